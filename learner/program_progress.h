// The results of a run for each of its programs.

#ifndef MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
#define MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "env/action.h"
#include "env/program_set.h"
#include "learner/learner.h"
#include "learner/return_baseline.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

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

// The results before any game: those of the greedy solver. One entry for each program. Internal
// errors of the greedy solver.
absl::StatusOr<std::vector<ProgramProgress>> StartProgress(const ProgramSet& programs);

// Makes `game` the best game if it is better than the best so far, and returns whether it is. It
// must be a whole game of the program.
bool NoteIfBest(const v1::Trajectory& game, const std::string& player, ProgramProgress& progress);

// InvalidArgument if a run's games were played by other rules than those of this build.
absl::Status CheckRules(uint32_t rules_version);

// Converts to the part of a checkpoint and back. Restore returns false and changes nothing if
// `saved` belongs to another program, if its best game is not a game of this program, or if its
// returns are no numbers.
v1::TrainState::Program SaveProgress(const ProgramProgress& progress,
                                     const ReturnBaseline& baseline);
bool RestoreProgress(const v1::TrainState::Program& saved, ProgramProgress& progress,
                     ReturnBaseline& baseline);

// Writes the mapping of the best game, if there is one. A better mapping in the folder stays: a run
// that continues from an earlier checkpoint may have found it before.
absl::Status WriteBestMapping(const RunDirectory& directory, const ProgramProgress& progress);

// The entry of the program in a line of metrics, without the mean return of recent games.
v1::TrainMetrics::Program DescribeProgress(const ProgramProgress& progress, double baseline_scale);

// Adds `share` of an update's losses to a mean.
void AddLosses(const UpdateResult& result, double share, v1::TrainMetrics::Losses& losses);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
