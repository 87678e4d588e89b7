// One shard of the replay, listening: the role `replay`.

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

namespace mallocmuzero {

class Security;

// Serves the services Replay and Status. What may be missing in `config`: max_positions,
// max_bytes, cache_bytes, eviction and remember_evicted_seconds have the defaults of
// replay/service/shard_config.h. Thread-safe.
class ReplayShard {
 public:
  // Opens the shard's data, if it is durable, and listens on config.address (port 0: any free
  // one). InvalidArgument names the field of `config` that cannot be: among others a rate limiter
  // that would block for ever. `registry` (may be null; not owned) gets the metrics of
  // replay/service/metrics.h.
  static absl::StatusOr<std::unique_ptr<ReplayShard>> Start(
      const v1::ReplayShard& config, const std::shared_ptr<const Security>& security,
      prometheus::Registry* registry);

  // Stops at once. What was acknowledged is on disk in durable modes.
  ~ReplayShard();

  ReplayShard(const ReplayShard&) = delete;
  ReplayShard& operator=(const ReplayShard&) = delete;

  // host:port with the port in use.
  const std::string& address() const;

  // What Start found that an operator should know, a line each: another rate limit than before,
  // trajectories that a power cut has taken.
  const std::vector<std::string>& notes() const;

  v1::ReplayStats Stats() const;

  // What the service Status answers.
  v1::RoleStatus Status() const;

  // Unavailable, with the reason, while the disk does not answer.
  absl::Status Health() const;

  // No new calls; streams have so long to end. Priorities and counters are stored.
  void Stop(absl::Duration grace);

 private:
  class Impl;

  explicit ReplayShard(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_SHARD_H_
