// The games of a shard with the highest returns, for each program.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_BEST_GAMES_H_
#define MALLOCMUZERO_REPLAY_SERVICE_BEST_GAMES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "replay/service/selector.h"
#include "replay/service/slot.h"

namespace mallocmuzero {

// Draws a program, then one of its best games, then a position, all uniformly. Not thread-safe.
class BestGames {
 public:
  // Keeps at most `games_per_program` games of each program; 0 keeps none.
  explicit BestGames(uint32_t games_per_program) : capacity_(games_per_program) {}

  struct Added {
    bool is_best = false;
    std::optional<Slot> displaced;  // the game that is no longer one of the best
  };
  // Adds a game if it is one of its program's best. A game with the return and length of a best
  // game counts as the same game and is not added.
  Added Add(Slot slot, absl::string_view program_sha256, double total_return, uint32_t positions);

  // Removes a game that Add made one of the best and that was not displaced since.
  void Remove(Slot slot, absl::string_view program_sha256);

  // The number of positions of all best games.
  uint64_t positions() const { return positions_; }

  // positions() must be above 0.
  SlotDraw Draw(std::mt19937_64& random) const;

 private:
  struct Game {
    double total_return;
    uint32_t positions;
    Slot slot;
  };
  struct Program {
    std::string sha256;
    std::vector<Game> games;  // highest return first, at least one
  };

  void RemoveProgram(size_t index);

  uint32_t capacity_;
  uint64_t positions_ = 0;
  std::vector<Program> programs_;
  absl::flat_hash_map<std::string, size_t> index_;  // in programs_, by SHA-256
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_BEST_GAMES_H_
