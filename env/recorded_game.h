// The actions of recorded games, and checks of games that may come from another process.

#ifndef MALLOCMUZERO_ENV_RECORDED_GAME_H_
#define MALLOCMUZERO_ENV_RECORDED_GAME_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// The actions of Trajectory.actions. A byte that is no action stays what it is.
std::vector<Action> ActionsOf(absl::string_view bytes);

// The inverse of ActionsOf.
std::string BytesOf(absl::Span<const Action> actions);

// The game that the actions play; nullopt if an action is not legal, or if the last one does not
// end the game. `rules` must outlive it.
std::optional<Game> PlayWhole(const ProgramRules& rules, absl::Span<const Action> actions);

// OK if the learner can use the trajectory without further checks. It must have the fingerprint of
// this program, the version of these rules, an id of 16 bytes and at least one decision. Every
// other field must have one entry for each decision. Policies must sum to 1 or be all 0, and other
// numbers must be finite. Those of root_values and searched_returns must be at most 1e30. At a
// decision whose root value is NaN, the searched return may be anything. A window must have one of
// the decisions or more. The plan of an incumbent must have one bit for each access. Otherwise
// InvalidArgument, with the program and the field.
absl::Status CheckTrajectory(const PlayedProgram& program, const v1::Trajectory& trajectory);

// CheckTrajectory, and plays the decisions: they must be a whole game with the recorded rewards.
absl::Status CheckRecordedGame(const PlayedProgram& program, const v1::Trajectory& trajectory);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_RECORDED_GAME_H_
