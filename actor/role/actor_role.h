// An actor of a cluster as one object: what `mallocmuzero actor` runs.

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

// Plays the learner's programs with its newest weights and sends the games to the replay shards.
// With `reanalyse` it searches stored games again instead. It does not listen: the learner reports
// its figures. The learner and the shards may go away and come back. Thread-safe.
class ActorRole {
 public:
  // `config` is a result of ReadClusterConfig. `index` distinguishes the processes of one config;
  // the name of the spool file depends on it. Every process has other random numbers than all
  // processes before it, because ids of games must differ. Returns at once and does not wait for
  // the learner. `registry` must outlive it. Errors name the field or the file.
  static absl::StatusOr<std::unique_ptr<ActorRole>> Start(const v1::ClusterConfig& config,
                                                          uint32_t index, bool reanalyse,
                                                          std::shared_ptr<const Security> security,
                                                          prometheus::Registry& registry);

  // Stops at once, as Stop with no time.
  ~ActorRole();
  ActorRole(const ActorRole&) = delete;
  ActorRole& operator=(const ActorRole&) = delete;

  // Gives up games in flight, delivers the spool, and writes the rest of the spool to
  // actor.spool_dir, all within `grace`. An error says what could not be written.
  absl::Status Stop(absl::Duration grace);

  // OK while it works. Otherwise the error that ended it, for example no memory; then Stop it and
  // start it again.
  absl::Status status() const;

  // The number of games that earlier processes with this index had left in actor.spool_dir, and the
  // number that Stop has left there.
  size_t found_in_spool() const;
  size_t left_in_spool() const;

  // The shards and the learner.
  std::vector<PeerState> peers() const;

  // The reason why no thread plays, if none does.
  PlayBlock blocked() const;

  // The work since it began.
  uint64_t games() const;

  // Updates of the weights in use; 0 if there are no weights yet.
  uint64_t network_step() const;

 private:
  class Impl;  // actor_role.cc

  explicit ActorRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ACTOR_ROLE_H_
