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

// A game that is decided anew in parts.
struct IncumbentGame {
  HbmShare total_return;  // as offered: the same game is not taken over again because of rounding
  Plan plan;              // plays it again
  IndexVector<AccessIndex, uint8_t> in_fast_memory;  // a flag for each access

  // By access: the return before the first decision about this access or a later one.
  IndexVector<AccessIndex, double> returns_before;
};

// Thread-safe. Plays the games that it takes over without the lock.
class Incumbents {
 public:
  // Takes over a game of the program if its return is higher than that of the known game. Otherwise
  // the game is not played. Returns false, and changes nothing, if the actions are not a whole
  // game.
  bool Offer(const PlayedProgram& program, HbmShare total_return, absl::Span<const Action> actions);

  // The best known game; null if no game is known.
  std::shared_ptr<const IncumbentGame> Find(const PlayedProgram& program) const;

  // The total returns of the best known games, by SHA-256 of the program.
  std::map<std::string, HbmShare> returns() const;

  // Forgets the games of all other programs.
  void Keep(const ProgramSet& programs);

 private:
  bool IsBest(const PlayedProgram& program, HbmShare total_return) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // The keys are SHA-256 of programs.
  std::map<std::string, std::shared_ptr<const IncumbentGame>> incumbents_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_INCUMBENTS_H_
