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

// Plays the learner's programs with its newest weights and sends the games to the replay shards; or
// searches stored games again (reanalyse). It does not listen: the learner speaks for it. Learner
// and shards may come and go. Thread-safe.
class ActorRole {
 public:
  // `config` as ReadClusterConfig gives it. `index` tells the processes of one config apart: the
  // spool's file depends on it. Random numbers are others in every process that ever runs, as the
  // ids of games must be. Returns at once, whether or not anyone answers.
  // `registry` must outlive it. Errors name the field or the file.
  static absl::StatusOr<std::unique_ptr<ActorRole>> Start(const v1::ClusterConfig& config,
                                                          uint32_t index, bool reanalyse,
                                                          std::shared_ptr<const Security> security,
                                                          prometheus::Registry& registry);

  // Stops at once: Stop without grace.
  ~ActorRole();
  ActorRole(const ActorRole&) = delete;
  ActorRole& operator=(const ActorRole&) = delete;

  // Gives up games in flight, delivers the spool, and writes what is left of it to
  // actor.spool_dir, all within `grace`. An error says what could not be written.
  absl::Status Stop(absl::Duration grace);

  // OK while it works. Else what ended it, such as no memory: stop it, and start it again.
  absl::Status status() const;

  // Games that earlier processes of the index had left in actor.spool_dir, and that Stop has left.
  size_t found_in_spool() const;
  size_t left_in_spool() const;

  // The shards and the learner.
  std::vector<PeerState> peers() const;

  // What it waits for, all of its threads.
  PlayBlock blocked() const;

  // Since it began.
  uint64_t games() const;

  // Updates of the weights in use; 0 also before there are any.
  uint64_t network_step() const;

 private:
  class Impl;  // actor_role.cc

  explicit ActorRole(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ACTOR_ROLE_H_
