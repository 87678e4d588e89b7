// What a run knows about each of its programs besides the networks.

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

// What is known about a program at the end, or so far. Returns are shares of the all-HBM cycles.
struct ProgramProgress {
  const PlayedProgram* program = nullptr;
  double greedy_return = 0;          // of the greedy solver's game
  double best_return = 0;            // of the best game, if there is one
  std::string best_player;           // "agent", or a solver; in a cluster just "demonstration"
  std::vector<Action> best_actions;  // empty before the first game

  // At the last evaluation; NaN before the first.
  double policy_return = std::numeric_limits<double>::quiet_NaN();
};

// Of each program, before any game: what the greedy solver does.
absl::StatusOr<std::vector<ProgramProgress>> StartProgress(const ProgramSet& programs);

// Whether the game is better than all before; then it is the best now. A whole game of the program.
bool NoteIfBest(const v1::Trajectory& game, const std::string& player, ProgramProgress& progress);

// InvalidArgument if a run's games were played by other rules than this build plays: what it has
// learnt is of another game.
absl::Status CheckRules(uint32_t rules_version);

// For a checkpoint, and back; false, with nothing changed, if it is of another program, or its best
// game is no game of this one.
v1::TrainState::Program SaveProgress(const ProgramProgress& progress,
                                     const ReturnBaseline& baseline);
bool RestoreProgress(const v1::TrainState::Program& saved, ProgramProgress& progress,
                     ReturnBaseline& baseline);

// The mapping of the best game, if there was one. One that is better stays: a run that goes on from
// an earlier checkpoint has found it before.
absl::Status WriteBestMapping(const RunDirectory& directory, const ProgramProgress& progress);

// What a line of metrics says of the program; the mean return of recent games is not in here.
v1::TrainMetrics::Program DescribeProgress(const ProgramProgress& progress, double baseline_scale);

// Adds `share` of an update's losses to a mean.
void AddLosses(const UpdateResult& result, double share, v1::TrainMetrics::Losses& losses);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_PROGRAM_PROGRESS_H_
