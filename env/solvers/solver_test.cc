// Solvers against each other and against the truth, on random programs.

#include "env/solvers/solver.h"

#include <cstdint>
#include <random>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kPrograms = 40;

SolveOptions Games(uint64_t count) {
  SolveOptions options;
  options.max_games = count;
  options.seed = 1;
  return options;
}

TEST(Solve, EverySolversMappingIsValidAndCostsWhatItSays) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const GameRules rules = *GameRules::Create(program);
    for (const absl::string_view name : {"all_hbm", "greedy", "xla_like", "local_search"}) {
      const absl::StatusOr<Solution> solution = Solve(name, rules, Games(200));
      ASSERT_TRUE(solution.ok()) << solution.status();
      EXPECT_THAT(Validate(program, solution->mapping), IsEmpty()) << name << ", seed " << seed;
      EXPECT_DOUBLE_EQ(Simulate(program, solution->mapping).total_cycles, solution->cycles)
          << name << ", seed " << seed;
    }
  }
}

TEST(Solve, LocalSearchIsNoWorseThanItsStarts) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const GameRules rules = *GameRules::Create(program);
    const double found = Solve("local_search", rules, Games(500))->cycles;
    EXPECT_LE(found, Solve("greedy", rules, Games(1))->cycles * (1 + 1e-12)) << "seed " << seed;
    EXPECT_LE(found, Solve("xla_like", rules, Games(1))->cycles * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(Solve, TheSameSeedGivesTheSameAnswer) {
  std::mt19937_64 random(5);
  const Program program = testing::RandomGameProgram(random);
  const GameRules rules = *GameRules::Create(program);
  const absl::StatusOr<Solution> one = Solve("local_search", rules, Games(300));
  const absl::StatusOr<Solution> two = Solve("local_search", rules, Games(300));
  EXPECT_EQ(one->actions, two->actions);
  EXPECT_EQ(one->mapping, two->mapping);
}

TEST(Solve, AnswersEvenAfterTheDeadlineAndWhenToldToStop) {
  std::mt19937_64 random(6);
  const Program program = testing::RandomGameProgram(random);
  const GameRules rules = *GameRules::Create(program);
  SolveOptions options;
  options.deadline = absl::InfinitePast();
  EXPECT_THAT(Validate(program, Solve("local_search", rules, options)->mapping), IsEmpty());
  options.deadline = absl::InfiniteFuture();
  options.stop = [] { return true; };
  const absl::StatusOr<Solution> stopped = Solve("portfolio", rules, options);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_TRUE(stopped->interrupted);
  EXPECT_THAT(Validate(program, stopped->mapping), IsEmpty());
}

TEST(Solve, AnUnknownNameIsRefused) {
  std::mt19937_64 random(7);
  const Program program = testing::RandomGameProgram(random);
  const GameRules rules = *GameRules::Create(program);
  EXPECT_EQ(Solve("magic", rules, Games(1)).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero
