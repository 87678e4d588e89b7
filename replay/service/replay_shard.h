// The role `replay`: one shard of the replay with its server.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SHARD_H_
#define MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SHARD_H_

#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/service/storage.h"

namespace mallocmuzero {

class Security;

// Serves the services Replay and Status. Thread-safe.
class ReplayShard {
 public:
  // Opens the data of a durable shard and listens on config.address; port 0 takes any free port.
  // InvalidArgument names the field of `config` that is not set or not valid, such as a rate limit
  // that would block for ever. Also returns the errors of DurableStorage::Open and
  // RpcServer::Start. `registry`, which may be null, gets the metrics of replay/service/metrics.h;
  // it is not owned and must outlive the shard. `storage` keeps the items; null: the storage of
  // config.mode.
  static absl::StatusOr<std::unique_ptr<ReplayShard>> Start(
      const v1::ReplayShard& config, const std::shared_ptr<const Security>& security,
      prometheus::Registry* registry, std::unique_ptr<Storage> storage = nullptr);

  // Calls Stop without grace. In durable modes every acknowledged item is on disk.
  ~ReplayShard();

  ReplayShard(const ReplayShard&) = delete;
  ReplayShard& operator=(const ReplayShard&) = delete;

  // host:port with the port that the shard listens on.
  const std::string& address() const;

  // Facts that Start found and an operator should know, a line each, such as trajectories of
  // earlier runs, a changed rate limit, or trajectories lost by a power cut.
  const std::vector<std::string>& notes() const;

  // Facts that an operator should know, a line each, since the last call: which trajectories could
  // not be read from the disk.
  std::vector<std::string> TakeWarnings();

  // Statistics of the shard's content and streams.
  v1::ReplayStats Stats() const;

  // The answer of the service Status.
  v1::RoleStatus Status() const;

  // Unavailable, with the reason, while the disk does not answer.
  absl::Status Health() const;

  // OK if the shard takes inserts, or holds them back only until draws catch up. Otherwise
  // Unavailable with the reason: the shard is drained, or its disk is full or does not answer.
  absl::Status Ready() const;

  // Stores priorities and counters, ends all streams and refuses new calls. Blocks until running
  // calls have ended; they are cancelled after `grace`.
  void Stop(absl::Duration grace);

 private:
  class Impl;

  explicit ReplayShard(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SHARD_H_
