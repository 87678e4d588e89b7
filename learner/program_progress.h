// The results of a run for each of its programs.

#ifndef MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
#define MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "env/action.h"
#include "env/program_set.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// The results for one program so far. Returns are shares of the all-HBM cycles.
struct ProgramProgress {
  const PlayedProgram* program = nullptr;
  double initial_return = 0;         // before the first decision
  double greedy_return = 0;          // of the greedy solver's game
  double best_return = 0;            // of the best game, if there is one
  std::string best_player;           // "agent" or a solver; in a cluster "agent" or "demonstration"
  std::vector<Action> best_actions;  // empty before the first game

  // The policy's return at the last evaluation; NaN before the first.
  double policy_return = std::numeric_limits<double>::quiet_NaN();
};

// Writes the mapping of the best game, if there is one. A better mapping in the folder stays: a run
// that continues from an earlier checkpoint may have found it before.
absl::Status WriteBestMapping(const RunDirectory& directory, const ProgramProgress& progress);

// The entry of the program in a line of metrics. `mean_return` is that of recent games, NaN if
// there are none. `baseline_scale` is the unit of the network's values, a share of the all-HBM
// cycles.
v1::TrainMetrics::Program DescribeProgress(const ProgramProgress& progress, double mean_return,
                                           double baseline_scale);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
