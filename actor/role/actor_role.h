// The role `actor` of a cluster, which `mallocmuzero actor` runs.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ACTOR_ROLE_H_
#define MALLOCMUZERO_ACTOR_ROLE_ACTOR_ROLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/role/play_block.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/peer_state.h"

namespace prometheus {
class Registry;
}  // namespace prometheus

namespace mallocmuzero {

class Security;  // rpc/security.h

// Plays the learner's programs with its newest weights and sends the games to the replay shards. A
// reanalyser searches stored games again instead. Does not listen; its status is part of the
// learner's. Learner and shards may go away and come back at any time. Thread-safe.
class ActorRole {
 public:
  // Starts an actor or, if `reanalyse`, a reanalyser. `config` must come from ReadClusterConfig.
  // `index` distinguishes the processes of one configuration, whose spool files depend on it.
  // Random numbers differ in every process, because the ids of games must never repeat. Returns at
  // once, without waiting for the learner or shards. `registry` must outlive the role.
  // InvalidArgument names the field, --index or the file that is wrong.
  static absl::StatusOr<std::unique_ptr<ActorRole>> Start(const v1::ClusterConfig& config,
                                                          uint32_t index, bool reanalyse,
                                                          std::shared_ptr<const Security> security,
                                                          prometheus::Registry& registry);

  // Calls Stop without grace, which loses the spool's content if it cannot be written at once.
  ~ActorRole();
  ActorRole(const ActorRole&) = delete;
  ActorRole& operator=(const ActorRole&) = delete;

  // Gives up games in flight, delivers the spool and writes the rest of it to actor.spool_dir, all
  // within about `grace`. Blocks. An error says how many games are lost, or which id is not in
  // actor.audit_dir. Only the first call has an effect.
  absl::Status Stop(absl::Duration grace);

  // OK while the actor works. After an error the process should be restarted: an error ended a
  // thread, such as a lack of memory, or an id could not be written to actor.audit_dir.
  absl::Status status() const;

  // The number of games that an earlier process with this index had left in actor.spool_dir, and
  // that Stop has left there.
  size_t found_in_spool() const;
  size_t left_in_spool() const;

  // The state of the shards and of the learner.
  std::vector<PeerState> peers() const;

  // The reason why the actor waits, if all of its threads do; otherwise kNothing.
  PlayBlock blocked() const;

  // OK if the actor has weights and plays, or waits only because shards hold games back. Otherwise
  // Unavailable with the reason.
  absl::Status ready() const;

  // Games played since the start.
  uint64_t games() const;

  // The number of updates that made the weights in use; 0 also if there are none yet.
  uint64_t network_step() const;

 private:
  class Impl;  // actor_role.cc

  explicit ActorRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ACTOR_ROLE_H_
