// Tests what the observations of all games have in common, on random programs and on the corpus.

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/observation_layout.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

using testing::CorpusPaths;
using testing::EverythingMatters;
using testing::RandomGameProgram;

using Row = std::vector<float>;

Row Observe(ObservationWriter& writer, const Game& game) {
  Row row(kObservationSize, std::numeric_limits<float>::quiet_NaN());
  writer.Write(game, absl::MakeSpan(row));
  return row;
}

// Plays a game and calls `see` with the observation of each decision.
template <typename See>
void PlayAndLook(const ProgramRules& rules, PlayerKind kind, const See& see) {
  const ObservationTables tables(rules);
  ObservationWriter writer(tables);
  Player player(kind, 3);
  player.StartGame();
  for (Game game(rules); !game.finished(); game.Apply(player.Choose(game))) {
    see(game, writer, Observe(writer, game));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void ExpectBounded(const Game& game, ObservationWriter&, const Row& row) {
  for (size_t k = 0; k < row.size(); ++k) {
    ASSERT_TRUE(row[k] >= -1 && row[k] <= 1)
        << "number " << k << " is " << row[k] << " at access " << game.access();
  }
}

TEST(Observation, IsBoundedOnRandomPrograms) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomGameProgram(random);
    for (const PlayerKind kind : kPlayerKinds) {
      PlayAndLook(EverythingMatters(program), kind, ExpectBounded);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Observation, IsBoundedOnTheCorpus) {
  const std::vector<std::string> paths = CorpusPaths(MALLOCMUZERO_SOURCE_DIR);
  ASSERT_GE(paths.size(), 50);
  for (const std::string& path : paths) {
    const absl::StatusOr<Program> program = LoadProgram(path);
    ASSERT_TRUE(program.ok()) << program.status();
    const ProgramRules rules = ProgramRules::Create(*program);
    PlayAndLook(rules, PlayerKind::kRandom, ExpectBounded);
    if (HasFatalFailure()) return;
  }
}

TEST(Observation, DependsOnTheHistoryAndOnNothingElse) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomGameProgram(random);
    const ProgramRules rules = EverythingMatters(program);
    PlayAndLook(rules, PlayerKind::kRandom,
                [&](const Game& game, ObservationWriter& writer, const Row& row) {
                  Game again(rules);
                  for (const Action action : game.history()) again.Apply(action);
                  const ObservationTables tables(rules);
                  ObservationWriter other(tables);
                  ASSERT_EQ(Observe(other, again), row);
                  ASSERT_EQ(Observe(writer, again), row);
                });
    if (HasFatalFailure()) return;
  }
}

TEST(Observation, DiffersAfterDifferentActions) {
  int pairs = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomGameProgram(random);
    PlayAndLook(EverythingMatters(program), PlayerKind::kRandom,
                [&](const Game& game, ObservationWriter& writer, const Row&) {
                  std::vector<Row> next;
                  for (const Action action : kActions) {
                    if (!game.IsLegal(action)) continue;
                    Game tried = game;
                    tried.Apply(action);
                    if (!tried.finished()) next.push_back(Observe(writer, tried));
                  }
                  for (size_t k = 1; k < next.size(); ++k) {
                    ++pairs;
                    ASSERT_NE(next[k - 1], next[k]);
                  }
                });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(pairs, 100);
}

}  // namespace
}  // namespace mallocmuzero
