// Chooses how often each program is played.

#ifndef MALLOCMUZERO_LEARNER_CURRICULUM_H_
#define MALLOCMUZERO_LEARNER_CURRICULUM_H_

#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// How well a program is played. Returns are shares of its all-HBM cycles.
struct ProgramStanding {
  // The best known, of the agent, a solver or the compiler.
  double best_return = 0;

  // The mean return of recent self-play games; NaN: there are none yet.
  double mean_return = std::numeric_limits<double>::quiet_NaN();

  // Typical deviation of returns, above 0.
  double scale = 1;
};

// Shares that sum to 1. A fifth is dealt out evenly, so that no program is forgotten. The rest is
// dealt out by regret: how far recent games stay below the best known return, in units of their
// deviation, at most 10. The regret of a program without games is 10.
std::vector<double> ProgramWeights(absl::Span<const ProgramStanding> programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_CURRICULUM_H_
