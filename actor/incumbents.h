// The best known game of each program, whose windows self-play decides anew.

#ifndef MALLOCMUZERO_ACTOR_INCUMBENTS_H_
#define MALLOCMUZERO_ACTOR_INCUMBENTS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/program_set.h"
#include "env/solvers/plan.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// Thread-safe. Plays the games that it takes over without the lock.
class Incumbents {
 public:
  // Takes over a game of the program if it brings more than the known one; otherwise it is not
  // played. Returns false, and changes nothing, if the actions are not a whole game.
  bool Offer(const PlayedProgram& program, HbmShare total_return, absl::Span<const Action> actions);

  // The plan that plays the best known game again; null if no game is known.
  std::shared_ptr<const Plan> Find(const PlayedProgram& program) const;

  // The total returns of the best known games, by SHA-256 of the program.
  std::map<std::string, HbmShare> returns() const;

  // Forgets the games of all other programs.
  void Keep(const ProgramSet& programs);

 private:
  struct Incumbent {
    HbmShare total_return;
    std::shared_ptr<const Plan> plan;
  };

  bool IsBest(const PlayedProgram& program, HbmShare total_return) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, Incumbent> incumbents_ ABSL_GUARDED_BY(mutex_);  // by program (SHA-256)
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_INCUMBENTS_H_
