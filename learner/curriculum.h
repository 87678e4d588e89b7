// Chooses how often each program is played.

#ifndef MALLOCMUZERO_LEARNER_CURRICULUM_H_
#define MALLOCMUZERO_LEARNER_CURRICULUM_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// How well a program is played.
struct ProgramStanding {
  HbmShare best_return;                 // the best known, of the agent, a solver or the compiler
  std::optional<HbmShare> mean_return;  // of recent self-play games, if there are any
  HbmShare scale = HbmShare(1);         // typical deviation of returns, above 0
};

// Shares that sum to 1. A fifth is dealt out evenly, so that no program is forgotten. The rest is
// dealt out by regret: how far recent games stay below the best known return, in units of their
// deviation, at most 10. The regret of a program without games is 10.
std::vector<double> ProgramWeights(absl::Span<const ProgramStanding> programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_CURRICULUM_H_
