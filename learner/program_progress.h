// The results of a run for each of its programs.

#ifndef MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
#define MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "env/action.h"
#include "env/program_set.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// The results for one program so far.
struct ProgramProgress {
  const PlayedProgram* program = nullptr;
  HbmShare initial_return;           // before the first decision
  HbmShare greedy_return;            // of the greedy solver's game
  HbmShare best_return;              // of the best game, if there is one
  std::string best_player;           // "agent" or a solver; in a cluster "agent" or "demonstration"
  std::vector<Action> best_actions;  // empty before the first game

  std::optional<HbmShare> policy_return;  // at the last evaluation; none before the first
};

// Writes the mapping of the best game, if there is one. A better mapping in the folder stays: a run
// that continues from an earlier checkpoint may have found it before.
absl::Status WriteBestMapping(const RunDirectory& directory, const ProgramProgress& progress);

// The entry of the program in a line of metrics. `mean_return` is that of recent games, if there
// are any. `baseline_scale` is the unit of the network's values.
v1::TrainMetrics::Program DescribeProgress(const ProgramProgress& progress,
                                           std::optional<HbmShare> mean_return,
                                           HbmShare baseline_scale);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
