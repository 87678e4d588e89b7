// Delivers trajectories to the replay shards, through restarts of shards and lost connections.

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
#include "mallocmuzero/v1/shards.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/shard_address.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {

class Security;

// The largest spool: its file is a single protobuf message, which must stay below 2 GiB.
inline constexpr size_t kMostSpoolBytes = size_t{1} << 30;

struct ReplayWriterOptions {
  std::vector<ShardAddress> shards;  // at least one

  // Whether trajectories that belong to a shard wait for SetRoster. Without the cluster's list, a
  // name of `shards` may be that of a new shard, while an earlier one of that name has handed over
  // its trajectories. The new one would store them a second time.
  bool awaits_roster = false;
  std::shared_ptr<const Security> security;

  // The most bytes of trajectories, compressed, that may wait for acknowledgement, whether sent or
  // not. An empty spool takes one trajectory of any size. 1 to kMostSpoolBytes.
  size_t spool_bytes = size_t{64} << 20;

  // The folder where Close writes the trajectories that it could not deliver, into a file named
  // after the writer. The next Start with the same name reads them. If empty, they are lost and
  // Close returns how many.
  std::string spool_dir;
  std::string name = "writer";  // letters, digits, hyphens, dots

  // For audits: the file to which the id of each acknowledged trajectory is appended, one a line,
  // as 32 hexadecimal digits. Empty: no file.
  std::string acknowledged_log;

  // Gets the metrics of replay/client/metrics.h if it is not null. Not owned; must outlive the
  // writer.
  prometheus::Registry* registry = nullptr;
};

// Sends each trajectory to one of the shards (ItemWriter says to which) and keeps it in the spool
// until that shard has acknowledged it. After a lost connection the trajectory is sent again; a
// shard that has it already acknowledges it and stores nothing. A shard that is away does not delay
// the others until its trajectories have filled the spool. Thread-safe.
class ReplayWriter {
 public:
  // Makes a writer and begins to send the trajectories of its spool file. InvalidArgument for an
  // option that is not valid or a folder that cannot be written; ResourceExhausted if the folder's
  // disk is full; an error that names the file for a spool file that cannot be read.
  // FailedPrecondition if another process uses the spool of this name.
  static absl::StatusOr<std::unique_ptr<ReplayWriter>> Start(ReplayWriterOptions options);

  // Stops at once. Without an earlier Close, trajectories that are not acknowledged are lost.
  ~ReplayWriter();

  ReplayWriter(const ReplayWriter&) = delete;
  ReplayWriter& operator=(const ReplayWriter&) = delete;

  // Takes over another list of shards, unless CheckRoster refuses it. Trajectories that wait for a
  // shard that has left go to its heirs. Blocks until the streams to shards that have left are
  // closed.
  void SetRoster(const v1::ShardRoster& roster);

  // Takes a trajectory, which must have an id of 16 bytes, a program_sha256 of 32 bytes and at
  // least one decision. Blocks while the spool is full. Returns false, and does not take the
  // trajectory, if it is not valid or after Close was called.
  bool Write(const v1::Trajectory& trajectory);

  // Like Write, but the trajectory takes the place of the stored one with the same id in the shard
  // with the name `shard`: the same game, searched again. If that one has left, this one is
  // acknowledged and not stored.
  bool Replace(const v1::Trajectory& trajectory, const std::string& shard);

  // The number of trajectories that Start has found in the spool folder, and that Close has written
  // there.
  size_t found_in_spool() const;
  size_t left_in_spool() const;

  // The bytes of trajectories, compressed, that no shard has acknowledged or refused yet.
  size_t spooled_bytes() const;

  // The number of trajectories that wait for shards whose streams are open: they are on their way,
  // or a rate limiter holds them back. Trajectories for shards that are away do not count.
  size_t held_back() const;

  // Whether a call of Write waits for room in the spool.
  bool blocked() const;

  // Which shards are away and how many trajectories wait for them, in a few words; empty if no
  // trajectory waits for a shard that is away.
  std::string trouble() const;

  // The state of each shard, whether or not trajectories wait for it.
  std::vector<PeerState> peers() const;

  // Trajectories since Start that their shards have acknowledged, and that they have refused. The
  // writer drops refused ones.
  uint64_t acknowledged() const;
  uint64_t refused() const;

  // OK if the file `acknowledged_log` has the ids of all acknowledged trajectories. Otherwise the
  // error of the first write to it that failed: no id is written after it.
  absl::Status audit() const;

  // Makes blocked and later calls of Write return false, waits up to `grace` for acknowledgements,
  // and writes the remaining trajectories to the spool folder. With a spool folder, the wait ends
  // once a second has brought no answer, such as for a shard that is away. Unavailable, with their
  // number, if they could not be written there and are lost. Call at most once.
  absl::Status Close(absl::Duration grace);

 private:
  class Impl;

  explicit ReplayWriter(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_REPLAY_WRITER_H_
