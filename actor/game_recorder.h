// Records a game as a trajectory while it is played.

#ifndef MALLOCMUZERO_ACTOR_GAME_RECORDER_H_
#define MALLOCMUZERO_ACTOR_GAME_RECORDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// Call Start, then Apply for every decision, then Finish.
class GameRecorder {
 public:
  // `id` has 16 bytes and is never used for another game.
  GameRecorder(const PlayedProgram& program, std::string id, v1::Trajectory::Source source,
               uint64_t network_step);

  // Call it before the first decision.
  void Start(const Game& game);

  // Applies `action` and writes it down. If the decision was searched, `policy` has the shares that
  // the search gives the kActionCount actions, and `value` is what the position is worth by it.
  void Apply(Game& game, Action action, absl::Span<const float> policy = {},
             std::optional<NetworkValue> value = std::nullopt);

  // Notes that the player takes only the decisions that NoteOwnDecision announces. Call it before
  // the first decision.
  void StartWindow() { trajectory_.mutable_window(); }

  // Notes that the player took only the decisions in `window`. This is for a game that is played
  // again.
  void SetWindow(const v1::Trajectory::Window& window) { *trajectory_.mutable_window() = window; }

  // Notes that the player takes the next decision. Decisions between two such ones count as its
  // own.
  void NoteOwnDecision();

  // Notes what the observation of the next decision shows. Call it before each decision of the game
  // or of none.
  void NoteIncumbent(const ShownIncumbent& shown);

  v1::Trajectory Finish() && { return std::move(trajectory_); }

 private:
  v1::Trajectory trajectory_;
};

// The 16 bytes of an id. The same numbers give the same id, other numbers give another.
std::string TrajectoryId(uint64_t run, uint64_t iteration, uint64_t game);

// The trajectory of the game that `actions` play, as a demonstration. InvalidArgument, with the
// program's name, if the actions are not legal or do not end the game.
absl::StatusOr<v1::Trajectory> Demonstrate(const PlayedProgram& program, std::string id,
                                           absl::Span<const Action> actions);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_GAME_RECORDER_H_
