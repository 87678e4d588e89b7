// Does a game's return say what the simulator says, and could its mapping run?

#ifndef MALLOCMUZERO_ENV_CHECK_GAME_CHECK_H_
#define MALLOCMUZERO_ENV_CHECK_GAME_CHECK_H_

#include <string>
#include <vector>

#include "env/game.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {

// Largest GameCheck::return_error that rounding explains.
inline constexpr double kMaxReturnError = 1e-9;

// How far the game is from the two programs that know nothing of it.
struct GameCheck {
  // |sum of rewards - (1 - Simulate(ToMapping()) / all-HBM cycles)|, relative to the larger of 1
  // and the simulated share: bad games of contended programs take many times the all-HBM cycles.
  double return_error = 0;
  std::vector<Violation> violations;  // of Validate, if asked for

  bool ok() const { return return_error <= kMaxReturnError && violations.empty(); }

  // One line a fault, empty if there is none.
  std::string Message() const;
};

enum class CheckDepth : uint8_t {
  kPrice,     // Simulate
  kValidity,  // and Validate, which takes far longer than the game
};

// Checks a finished game. `reward_sum` is initial_return() and what Apply returned, summed.
GameCheck CheckGame(const Game& game, double reward_sum, CheckDepth depth);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_CHECK_GAME_CHECK_H_
