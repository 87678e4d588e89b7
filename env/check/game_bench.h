// Plays many games and measures their speed, their memory and the error of their returns.

#ifndef MALLOCMUZERO_ENV_CHECK_GAME_BENCH_H_
#define MALLOCMUZERO_ENV_CHECK_GAME_BENCH_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero {

struct GameBenchOptions {
  uint64_t games = 1;
  uint64_t seed = 0;

  // Compares the return of each game with Simulate. Validates the first game and every
  // kGamesPerValidation-th one after it.
  bool check = false;
};

// Validate takes up to a hundred times as long as a game.
inline constexpr uint64_t kGamesPerValidation = 100;

// Plays games of one player on one program and adds them to `entry`, which belongs to this player.
// Adds faults to `report`, as lines that begin with `program_name`.
void BenchGames(const ProgramRules& rules, PlayerKind player, const GameBenchOptions& options,
                absl::string_view program_name, v1::GameBenchReport& report,
                v1::GameBenchReport::Entry& entry);

// Computes the fields that are ratios of other fields.
void FinishEntry(v1::GameBenchReport::Entry& entry);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_CHECK_GAME_BENCH_H_
