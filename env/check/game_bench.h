// Plays many games: how fast they are, what memory they take, and whether they tell the truth.

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

  // Compares each game's return with Simulate; validates the first game, and one in
  // kGamesPerValidation of the others.
  bool check = false;
};

// Validate takes up to a hundred times as long as a game.
inline constexpr uint64_t kGamesPerValidation = 100;

// Plays one player's games of one program and adds them to `entry`, which is of this player;
// faults found go to `report`, as lines that begin with `program_name`.
void BenchGames(const ProgramRules& rules, PlayerKind player, const GameBenchOptions& options,
                absl::string_view program_name, v1::GameBenchReport& report,
                v1::GameBenchReport::Entry& entry);

// Fills in the fields that are ratios of others.
void FinishEntry(v1::GameBenchReport::Entry& entry);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_CHECK_GAME_BENCH_H_
