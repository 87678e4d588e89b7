// How often each program is to be played.

#ifndef MALLOCMUZERO_LEARNER_ROLE_CURRICULUM_H_
#define MALLOCMUZERO_LEARNER_ROLE_CURRICULUM_H_

#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// How well a program is played. Returns are shares of its all-HBM cycles.
struct ProgramStanding {
  // The best known, by whoever played it.
  double best_return = 0;

  // Of recent games of self-play; NaN: none yet.
  double mean_return = std::numeric_limits<double>::quiet_NaN();

  // Typical deviation of returns, above 0.
  double scale = 1;
};

// Shares that sum to 1: a fifth is dealt out evenly, so that no program is forgotten, and the rest
// by regret, which is how far recent games stay below the best known in units of their deviation,
// at most 10. Nobody has played a program yet: 10.
std::vector<double> ProgramWeights(absl::Span<const ProgramStanding> programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_CURRICULUM_H_
