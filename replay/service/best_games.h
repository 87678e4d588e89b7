// The games of each program with the highest return.

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
#include "replay/service/item.h"
#include "replay/service/selector.h"

namespace mallocmuzero {

// A program, then one of its best games, then a position, all uniform. Not thread-safe.
class BestGames {
 public:
  // At most so many games a program; 0: none.
  explicit BestGames(uint32_t games_per_program) : capacity_(games_per_program) {}

  struct Added {
    bool is_best = false;
    std::optional<Slot> displaced;  // the game whose place it took
  };
  // A game of the same return and length as a best one counts as that one, and is not added.
  Added Add(Slot slot, absl::string_view program_sha256, double total_return, uint32_t positions);

  // Of a slot that Add made one of the best.
  void Remove(Slot slot, absl::string_view program_sha256);

  // Positions that a draw chooses among.
  uint64_t positions() const { return positions_; }

  // positions() is above 0.
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
