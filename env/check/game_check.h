// Checks a finished game: its return against Simulate, and its mapping with Validate.

#ifndef MALLOCMUZERO_ENV_CHECK_GAME_CHECK_H_
#define MALLOCMUZERO_ENV_CHECK_GAME_CHECK_H_

#include <string>
#include <vector>

#include "env/game.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {

// The largest GameCheck::return_error that rounding can cause.
inline constexpr double kMaxReturnError = 1e-9;

// The differences between a game and the simulator and validator, which share no code with it.
struct GameCheck {
  // |sum of rewards - (1 - Simulate(ToMapping()) / all-HBM cycles)|, relative to the larger of 1
  // and the simulated share. Bad games can take many times the all-HBM cycles.
  double return_error = 0;
  std::vector<Violation> violations;  // from Validate, for CheckDepth::kValidity

  bool ok() const { return return_error <= kMaxReturnError && violations.empty(); }

  // One line for each fault; empty if there is none.
  std::string Message() const;
};

enum class CheckDepth : uint8_t {
  kPrice,     // the return only
  kValidity,  // the return and the mapping, which takes far longer than the game
};

// `reward_sum` is initial_return() plus all that Apply returned. The game must be finished.
GameCheck CheckGame(const Game& game, double reward_sum, CheckDepth depth);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_CHECK_GAME_CHECK_H_
