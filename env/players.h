// Players that know which actions are legal, but not what they save. They exercise the rules.

#ifndef MALLOCMUZERO_ENV_PLAYERS_H_
#define MALLOCMUZERO_ENV_PLAYERS_H_

#include <array>
#include <cstdint>
#include <random>

#include "absl/strings/string_view.h"
#include "base/enums.h"
#include "env/action.h"
#include "env/game.h"

namespace mallocmuzero {

enum class PlayerKind : uint8_t {
  kRandom,       // any legal action
  kEager,        // fast memory whenever it is legal: NoCopy, else Copy, else Drop
  kAdversarial,  // one Manner in each game, in turn: corners of the rules
};

inline constexpr PlayerKind kPlayerKinds[] = {PlayerKind::kRandom, PlayerKind::kEager,
                                              PlayerKind::kAdversarial};

// "random", "eager" or "adversarial".
absl::string_view PlayerName(PlayerKind kind);

// Fast memory whenever it is legal. It takes almost no time, so a benchmark measures the game.
inline Action EagerAction(ActionSet legal) {
  if (Contains(legal, Action::kNoCopy)) return Action::kNoCopy;
  return Contains(legal, Action::kCopy) ? Action::kCopy : Action::kDrop;
}

// The same seed plays the same games on every machine. Not thread-safe.
class Player {
 public:
  Player(PlayerKind kind, uint64_t seed) : kind_(kind), random_(seed) {}

  // Call before each game.
  void StartGame();

  // A legal action; the game must not be finished.
  Action Choose(const Game& game);

 private:
  // How an adversarial player plays a whole game, apart from some random actions.
  enum class Manner : uint8_t {
    kFlood,      // Copy wherever it is legal: full queues, many write-backs
    kRefetch,    // writes values back, does not keep them, and copies them in again
    kForget,     // written values go to fast memory only; all others are dropped
    kLateKeep,   // keeps only values that were not used for long
    kRarest,     // the action that it has taken least often so far
    kAlternate,  // Copy, NoCopy, Drop in turn
  };
  static constexpr int kManners = 6;

  Action Adversarial(const Game& game);
  Action Any(ActionSet legal);

  PlayerKind kind_;
  std::mt19937_64 random_;
  int games_ = 0;
  Manner manner_ = Manner::kFlood;
  uint32_t turn_ = 0;
  EnumArray<Action, uint32_t, kActionCount> taken_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PLAYERS_H_
