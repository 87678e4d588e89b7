// Sends trajectories to the replay shards, whatever happens to shards and connections meanwhile.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_REPLAY_WRITER_H_
#define MALLOCMUZERO_REPLAY_CLIENT_REPLAY_WRITER_H_

#include <prometheus/registry.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/shard_address.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

class Security;

// What is left of a spool must fit into one message of a file.
inline constexpr size_t kMostSpoolBytes = size_t{1} << 30;

struct ReplayWriterOptions {
  std::vector<ShardAddress> shards;  // at least one
  std::shared_ptr<const Security> security;

  // Payload bytes that may wait, those sent and not yet acknowledged included. One trajectory may
  // always wait, however large. 1 to kMostSpoolBytes.
  size_t spool_bytes = size_t{64} << 20;

  // Where Close leaves what it could not deliver, in a file named after the writer, and where the
  // next Start of the same name finds it. Empty: nowhere; Close then says how many are lost.
  std::string spool_dir;
  std::string name = "writer";  // letters, digits, hyphens, dots

  // For audits: a file that the id of each acknowledged trajectory is appended to, 32 hexadecimal
  // digits a line. Empty: none.
  std::string acknowledged_log;

  // Not owned; outlives the writer. See replay/client/metrics.h.
  prometheus::Registry* registry = nullptr;
};

// Each trajectory goes to the shard that its id names and stays in the spool until that shard has
// acknowledged it; it is sent again after a lost connection, which changes nothing if it had
// arrived. A shard that is away holds up no other, until the spool is full of what is meant for it.
// Thread-safe.
class ReplayWriter {
 public:
  // InvalidArgument for an option that cannot be, a spool file that cannot be read, or a folder
  // that cannot be written to. FailedPrecondition if another process writes a spool of the name
  // there.
  static absl::StatusOr<std::unique_ptr<ReplayWriter>> Start(ReplayWriterOptions options);

  // Stops at once. What Close has not dealt with is dropped.
  ~ReplayWriter();

  ReplayWriter(const ReplayWriter&) = delete;
  ReplayWriter& operator=(const ReplayWriter&) = delete;

  // Takes the trajectory (an id of 16 bytes, at least one decision); blocks while the spool is
  // full. False, and not taken, once the writer is closing, or if no shard could ever take it.
  bool Write(const v1::Trajectory& trajectory);

  // The same, to take the place of the stored one of the same id: a game searched again. If that
  // one has left, it is acknowledged and not stored.
  bool Replace(const v1::Trajectory& trajectory);

  // Trajectories that Start has found in the spool folder, and that Close has left there.
  size_t found_in_spool() const;
  size_t left_in_spool() const;

  size_t spooled_bytes() const;

  // Trajectories that wait for shards whose streams are open: on their way, or held back by a rate
  // limiter. Those for shards that are away are not among them.
  size_t held_back() const;

  // Whether a Write waits for room now.
  bool blocked() const;

  // Which shards are away and how much waits for them, in a few words; empty: all is well.
  std::string trouble() const;

  // The shards, whether or not anything waits for them.
  std::vector<PeerState> peers() const;

  // Trajectories since Start: stored by their shards; refused by them, and dropped.
  uint64_t acknowledged() const;
  uint64_t refused() const;

  // Takes no more, wakes blocked Writes, waits up to `grace` for acknowledgements, and writes what
  // is left to the spool folder. Unavailable, with their number, if trajectories were left and
  // could not be written there. Once.
  absl::Status Close(absl::Duration grace);

 private:
  class Impl;

  explicit ReplayWriter(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_REPLAY_WRITER_H_
