// Writes a game down as a trajectory while it is played.

#ifndef MALLOCMUZERO_ACTOR_GAME_RECORDER_H_
#define MALLOCMUZERO_ACTOR_GAME_RECORDER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// Start, Apply for every decision with what a search made of it, then Finish.
class GameRecorder {
 public:
  // `id` is unique for ever: 16 bytes.
  GameRecorder(const PlayedProgram& program, std::string id, v1::Trajectory::Source source,
               uint64_t network_step);

  // Before the first decision.
  void Start(const Game& game);

  // Applies `action` and writes it down. `policy` has kActionCount shares, or none and `value` is
  // NaN if nothing was searched.
  void Apply(Game& game, Action action, absl::Span<const float> policy, float value);

  v1::Trajectory Finish() && { return std::move(trajectory_); }

 private:
  v1::Trajectory trajectory_;
};

// Bytes of an id that is the same for the same numbers and for no others.
std::string TrajectoryId(uint64_t run, uint64_t iteration, uint64_t game);

// The game that `actions` play, as a demonstration. InvalidArgument, with the program's name, if
// they are not legal or do not end the game.
absl::StatusOr<v1::Trajectory> Demonstrate(const PlayedProgram& program, std::string id,
                                           absl::Span<const Action> actions);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_GAME_RECORDER_H_
