// The games whose windows an actor decides anew: the best ones that it has played itself, or that
// the learner has sent.

#ifndef MALLOCMUZERO_ACTOR_ROLE_INCUMBENT_GAMES_H_
#define MALLOCMUZERO_ACTOR_ROLE_INCUMBENT_GAMES_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "actor/incumbents.h"
#include "actor/role/assigned_programs.h"
#include "env/program_set.h"
#include "env/solvers/plan.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// Knows no games while the assignment's window_share is 0. Thread-safe.
class IncumbentGames {
 public:
  // Takes over a new assignment and forgets the games of programs that are not in it.
  void SetAssigned(std::shared_ptr<const AssignedPrograms> assigned);

  // Takes over the games that the learner has sent. Games of other programs and damaged ones are
  // left out.
  void SetOrders(const v1::ActorOrders& orders);

  // Takes over games that this actor has played.
  void AddGames(absl::Span<const v1::Trajectory> games);

  // The best known game; null if no game is known.
  std::shared_ptr<const IncumbentGame> Find(const PlayedProgram& program) const {
    return incumbents_.Find(program);
  }

  // Writes into a report what the known games bring.
  void Describe(v1::ActorReport& report) const;

 private:
  // Null if no games are wanted.
  std::shared_ptr<const AssignedPrograms> assigned() const;

  Incumbents incumbents_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const AssignedPrograms> assigned_ ABSL_GUARDED_BY(mutex_);  // null: none yet
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_INCUMBENT_GAMES_H_
