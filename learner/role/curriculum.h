// Decides how often each program is played.

#ifndef MALLOCMUZERO_LEARNER_ROLE_CURRICULUM_H_
#define MALLOCMUZERO_LEARNER_ROLE_CURRICULUM_H_

#include <limits>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// How well a program is played. Returns are shares of its cycles with everything in HBM.
struct ProgramStanding {
  // The best known return of any player.
  double best_return = 0;

  // The mean of recent games of self-play; NaN if there are none.
  double mean_return = std::numeric_limits<double>::quiet_NaN();

  // The typical deviation of returns; above 0.
  double scale = 1;
};

// Returns the share of games of each program; shares sum to 1. A fifth is divided evenly, so that
// no program is forgotten, and the rest in proportion to regret. The regret of a program is the
// distance of recent games below the best known return, in units of `scale`, from 0 to 10. A
// program without games has regret 10.
std::vector<double> ProgramWeights(absl::Span<const ProgramStanding> programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_CURRICULUM_H_
