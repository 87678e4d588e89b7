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

// Draws from every replay shard, trains, writes priorities back, and tells actors about new weights
// (v1::Learner, v1::Status on learner.address). It goes on from the last checkpoint in
// learner.run_dir, or begins there. Thread-safe.
class LearnerRole {
 public:
  // `config` as ReadClusterConfig gives it. Of learner.processes, this is number `rank`: number 0
  // serves actors and writes to run_dir; the others only train with it and do not listen.
  // Returns as soon as it serves; neither replay shards nor other processes need be there yet.
  // `registry` must outlive it. Errors name the field, the file or the address.
  static absl::StatusOr<std::unique_ptr<LearnerRole>> Start(
      v1::ClusterConfig config, uint32_t rank, std::shared_ptr<const Security> security,
      prometheus::Registry& registry);

  // Stops at once; what was learned since the last checkpoint is lost.
  ~LearnerRole();
  LearnerRole(const LearnerRole&) = delete;
  LearnerRole& operator=(const LearnerRole&) = delete;

  // Ends the update in progress, saves a checkpoint and closes all connections, which have until
  // `grace`. The update is waited for however long it takes: a minute if another process of the
  // learner does not answer.
  absl::Status Stop(absl::Duration grace);

  // OK while it works. Else what ended it, such as a full disk under run_dir: stop it, and start it
  // again.
  absl::Status status() const;

  // Unavailable, with the reason, while the disk does not answer a save.
  absl::Status health() const;

  // host:port that it listens on, with the port in use; empty for a rank above 0.
  const std::string& address() const;

  // The shards that it draws from.
  std::vector<PeerState> peers() const;

  // Updates made, those before a restart counted.
  uint64_t step() const;

 private:
  class Impl;  // learner_role.cc

  explicit LearnerRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_ROLE_H_
