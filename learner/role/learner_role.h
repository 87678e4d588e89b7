// The learner of a cluster as one object: what `mallocmuzero learner` runs.

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

// Draws positions from every replay shard, trains, sends new priorities to the shards, and tells
// actors about new weights (v1::Learner, v1::Status on learner.address). It continues from the last
// checkpoint in learner.run_dir, or begins a run there. Thread-safe.
class LearnerRole {
 public:
  // `config` is a result of ReadClusterConfig. `rank` is the number of this process among
  // learner.processes. Process 0 serves actors and writes to run_dir; the others only train and do
  // not listen. Returns as soon as it serves; replay shards and other processes may come later.
  // `registry` must outlive it. Errors name the field, the file or the address.
  static absl::StatusOr<std::unique_ptr<LearnerRole>> Start(
      v1::ClusterConfig config, uint32_t rank, std::shared_ptr<const Security> security,
      prometheus::Registry& registry);

  // Stops at once. Updates since the last checkpoint are lost.
  ~LearnerRole();
  LearnerRole(const LearnerRole&) = delete;
  LearnerRole& operator=(const LearnerRole&) = delete;

  // Ends the update in progress, saves a checkpoint and closes all connections. DeadlineExceeded,
  // with nothing saved, if the update has not ended by `grace`.
  absl::Status Stop(absl::Duration grace);

  // OK while it works. Otherwise the error that ended it, for example a full disk under run_dir;
  // then Stop it and start it again.
  absl::Status status() const;

  // The HOST:PORT that it listens on, with the port in use; empty for a rank above 0.
  const std::string& address() const;

  // The shards that it draws from.
  std::vector<PeerState> peers() const;

  // The number of updates, including those before a restart.
  uint64_t step() const;

 private:
  class Impl;  // learner_role.cc

  explicit LearnerRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_H_
