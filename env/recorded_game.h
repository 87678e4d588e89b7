// Games that came from elsewhere: whether they are what they say.

#ifndef MALLOCMUZERO_ENV_RECORDED_GAME_H_
#define MALLOCMUZERO_ENV_RECORDED_GAME_H_

#include "absl/status/status.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// OK if a trajectory can be replayed and learned from without further looks: it is of this program
// and these rules, has 16 bytes of id, at least one decision and as many of everything else, finite
// numbers (root_values and searched_returns may be NaN), and policies that are distributions or
// zeros. InvalidArgument, naming the program and the field, if not.
absl::Status CheckTrajectory(const PlayedProgram& program, const v1::Trajectory& trajectory);

// And its decisions are a whole game of the program that brings what it says. As slow as a game.
absl::Status CheckRecordedGame(const PlayedProgram& program, const v1::Trajectory& trajectory);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_RECORDED_GAME_H_
