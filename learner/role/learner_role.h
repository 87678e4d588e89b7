// The role `learner` of a cluster, which `mallocmuzero learner` runs.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/peer_state.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace mallocmuzero {

class Security;  // rpc/security.h

// Draws from every replay shard, trains, writes priorities back, and serves new weights to actors
// (services Learner and Status on learner.address). Continues from the last checkpoint in
// learner.run_dir or begins a new run there. Thread-safe.
class LearnerRole {
 public:
  // Starts process `rank` of learner.processes. Process 0 serves actors and writes to run_dir; the
  // others only take part in the training and do not listen. `config` must come from
  // ReadClusterConfig. Returns as soon as it serves, without waiting for replay shards or other
  // processes. `registry` must outlive the role. Errors name the field, the file or the address.
  static absl::StatusOr<std::unique_ptr<LearnerRole>> Start(
      v1::ClusterConfig config, uint32_t rank, std::shared_ptr<const Security> security,
      prometheus::Registry& registry);

  // Stops after the update in progress. Without an earlier Stop, the updates since the last
  // checkpoint are lost.
  ~LearnerRole();
  LearnerRole(const LearnerRole&) = delete;
  LearnerRole& operator=(const LearnerRole&) = delete;

  // Ends the update in progress, saves a checkpoint and closes all connections. Waits for the
  // update however long it takes: a minute if another process of the learner does not answer. Calls
  // that still run after `grace` are cancelled.
  absl::Status Stop(absl::Duration grace);

  // OK while the learner works. Otherwise the error that ended training; the process should then be
  // restarted.
  absl::Status status() const;

  // Unavailable, with the reason, while the disk does not answer a save.
  absl::Status health() const;

  // host:port with the port that it listens on; empty for a rank above 0.
  const std::string& address() const;

  // Facts that Start found and an operator should know, a line each, such as shards of the
  // configuration that have left the cluster.
  std::vector<std::string> notes() const;

  // The state of the shards that it draws from.
  std::vector<PeerState> peers() const;

  // The warnings for the operator since the last call, one line each.
  std::vector<std::string> TakeWarnings();

  // The number of updates of the run, including those before a restart.
  uint64_t step() const;

 private:
  class Impl;  // learner_role_impl.h

  explicit LearnerRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_H_
