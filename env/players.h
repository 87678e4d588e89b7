// Players that look at what is legal and not at what it saves: they exercise the rules.

#ifndef MALLOCMUZERO_ENV_PLAYERS_H_
#define MALLOCMUZERO_ENV_PLAYERS_H_

#include <array>
#include <cstdint>
#include <random>

#include "absl/strings/string_view.h"
#include "env/action.h"
#include "env/game.h"

namespace mallocmuzero {

enum class PlayerKind : uint8_t {
  kRandom,       // any legal action
  kEager,        // fast memory whenever it is legal: NoCopy, else Copy, else Drop
  kAdversarial,  // one of the manners below in each game, in turn: where rules meet
};

inline constexpr PlayerKind kPlayerKinds[] = {PlayerKind::kRandom, PlayerKind::kEager,
                                              PlayerKind::kAdversarial};

// "random", "eager" or "adversarial".
absl::string_view PlayerName(PlayerKind kind);

// Fast memory whenever it is legal. Stateless, so that a benchmark measures the game.
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
  // What an adversarial player does for a whole game, but for some random actions.
  enum class Manner : uint8_t {
    kFlood,      // Copy wherever it is legal: full queues, write-backs everywhere
    kRefetch,    // values written are written back and not kept, but brought in again
    kForget,     // values written stay in fast memory only; all others are dropped
    kLateKeep,   // keeps what was not used for long, and nothing else
    kRarest,     // what it has done least often so far
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
  std::array<uint32_t, kActionCount> taken_ = {0, 0, 0};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PLAYERS_H_
