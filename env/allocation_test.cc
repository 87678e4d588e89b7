// The hot paths of the game must not allocate. Counting allocations replaces operator new, so these
// tests are a binary of their own.

#include <cstdint>
#include <vector>

#include "env/game.h"
#include "env/observation.h"
#include "env/players.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/counted_new.h"

namespace mallocmuzero {
namespace {

using testing::Allocations;
using testing::EverythingMatters;
using testing::LayeredProgram;

Game HalfPlayed(const ProgramRules& rules) {
  Player player(PlayerKind::kRandom, 1);
  Game game(rules);
  while (game.access() < AccessIndex(rules.access_count() / 2)) game.Apply(player.Choose(game));
  return game;
}

TEST(Allocation, IsCounted) {
  const uint64_t before = Allocations();
  const std::vector<int> numbers(100);
  EXPECT_EQ(Allocations() - before, 1);
}

TEST(Allocation, WritingAnObservationMakesNone) {
  const Program program = LayeredProgram(100);
  const ProgramRules rules = EverythingMatters(program);
  const Game game = HalfPlayed(rules);
  const ObservationTables tables(rules);
  ObservationWriter writer(tables);
  std::vector<float> row(kObservationSize);
  const uint64_t before = Allocations();
  for (int k = 0; k < 10; ++k) writer.Write(game, absl::MakeSpan(row));
  EXPECT_EQ(Allocations(), before);
}

TEST(Allocation, GoingBackToASnapshotMakesNone) {
  const Program program = LayeredProgram(100);
  const ProgramRules rules = EverythingMatters(program);
  const Game snapshot = HalfPlayed(rules);
  Player player(PlayerKind::kRandom, 2);
  Game game = snapshot;
  while (!game.finished()) game.Apply(player.Choose(game));
  const uint64_t before = Allocations();
  game = snapshot;
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace mallocmuzero
