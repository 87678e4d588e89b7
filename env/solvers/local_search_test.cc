#include "env/solvers/local_search.h"

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/random.h"
#include "env/program_rules.h"
#include "env/solvers/neighbourhood.h"
#include "env/solvers/plan.h"
#include "env/solvers/plan_exchange.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solve.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "env/testing/ticking_clock.h"
#include "env/testing/tiny_program.h"
#include "gtest/gtest.h"
#include "simulator/core/fast_memory_share.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

TEST(LocalSearch, FindsTheOptimumOfNearlyAllTinyPrograms) {
  constexpr int kPrograms = 40;
  int found = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(1000 + seed);
    const Program program = testing::TinyProgram(random, 16);
    const ProgramRules rules = ProgramRules::Create(program);
    const double optimum = Solve("exhaustive", rules, {})->cycles;
    SolveOptions options;
    options.max_games = 2000;
    const double cycles = Solve("local_search", rules, options)->cycles;
    EXPECT_GE(cycles, optimum * (1 - 1e-12)) << "seed " << seed;
    if (cycles <= optimum * (1 + 1e-9)) ++found;
  }
  EXPECT_GE(found, kPrograms * 95 / 100);
}

// Programs and budgets with which the last gain was a disturbance's, and no step gained after it.
TEST(LocalSearch, WhatADisturbanceGainsIsNotLost) {
  for (const auto& [seed, games] : {std::pair(1392, 100), std::pair(1174, 200)}) {
    std::mt19937_64 random(seed);
    const Program program = testing::TinyProgram(random, 16);
    const ProgramRules rules = ProgramRules::Create(program);
    SolveOptions options;
    options.max_games = games;
    EXPECT_NEAR(Solve("local_search", rules, options)->cycles,
                Solve("exhaustive", rules, {})->cycles, 1e-6);
  }
}

TEST(LocalSearch, GivesManySmallValuesUpForALargeOne) {
  testing::ProgramBuilder builder;  // 1024 bytes of fast memory
  std::vector<BufferIndex> small;
  for (int k = 0; k < 12; ++k) {
    small.push_back(builder.AddBuffer(64));
    builder.AddInstruction(100, {testing::Write(small.back(), 10)});
  }
  const BufferIndex large = builder.AddBuffer(1024);
  builder.AddInstruction(400, {testing::Write(large, 150)});
  builder.AddInstruction(400, {testing::Read(large, 150)});
  for (const BufferIndex b : small) builder.AddInstruction(100, {testing::Read(b, 10)});
  const Program program = builder.Build();
  const ProgramRules rules = ProgramRules::Create(program);
  SolveOptions options;
  options.max_games = 20'000;
  // The small ones save 240 cycles together, the large one 300.
  EXPECT_LE(Solve("local_search", rules, options)->cycles, rules.all_hbm_cycles() - 300);
}

// The search assumes gains of windows and settles them. It returns a plan that it has played.
TEST(LocalSearch, TheCyclesOfALongProgramAreThoseOfItsPlan) {
  const Program program = testing::LayeredProgram(700);
  const ProgramRules rules = testing::EverythingMatters(program);
  const ProgramFacts facts(rules);
  const NeighbourhoodTables tables(facts);
  ASSERT_GT(Neighbourhood(tables).size(), 4096);
  const PlayedPlan start = Played(rules, Plan(rules.access_count(), Action::kDrop));
  double cycles = start.cycles;
  for (const uint64_t games : {200, 2000, 10'000}) {
    SolveOptions options;
    options.max_games = games;
    SearchBudget budget(options);
    const PlayedPlan found = LocalSearch(tables, 1, budget, nullptr).Run({&start, 1});
    EXPECT_LT(found.cycles, cycles);
    EXPECT_EQ(Played(rules, found.plan).cycles, found.cycles);
    cycles = found.cycles;
  }
}

// Fast memory is full, so that most gains of a window lose elsewhere. If all gains that are settled
// together are given up as soon as they lose, these games end at 13.36 million cycles.
TEST(LocalSearch, KeepsTheGainsOfALongProgramThatHold) {
  const absl::StatusOr<Program> captured = LoadProgram(
      MALLOCMUZERO_SOURCE_DIR "/bench/solvers/captured/tpu_v6e/dit_28x512_train_b8x256.program");
  ASSERT_TRUE(captured.ok()) << captured.status();
  const Program program = *WithFastMemoryShare(*captured, 0.25);
  const ProgramRules rules = ProgramRules::Create(program);
  SolveOptions options;
  options.max_games = 2000;
  EXPECT_LT(Solve("local_search", rules, options)->cycles, 13.2e6);
}

// A game counts each of its decisions as a step. It has ten or more.
TEST(LocalSearch, TheTimeEndsInTheMiddleOfAGameOfALongProgram) {
  const Program program = testing::LayeredProgram(700);
  const ProgramRules rules = testing::EverythingMatters(program);
  const ProgramFacts facts(rules);
  const NeighbourhoodTables tables(facts);
  const PlayedPlan start = Played(rules, Plan(rules.access_count(), Action::kDrop));
  SolveOptions options;
  options.clock = testing::TickingClock;
  options.deadline = testing::TickingClock() + absl::Seconds(2);
  SearchBudget budget(options);
  LocalSearch(tables, 1, budget, nullptr).Run({&start, 1});
  EXPECT_LT(budget.games(), 250);
}

// Threads that draw the same numbers soon try the same changes.
TEST(LocalSearch, ThreadsDrawNumbersOfTheirOwn) {
  for (const uint64_t seed : {0, 1, 12345}) {
    std::set<uint64_t> numbers;
    for (uint32_t thread = 0; thread < 8; ++thread) {
      Random random(SeedOfThread(seed, thread));
      for (int k = 0; k < 1000; ++k) EXPECT_TRUE(numbers.insert(random.Next()).second);
    }
  }
  EXPECT_EQ(SeedOfThread(7, 0), 7);
}

TEST(LocalSearch, ThreadsThatSearchALongProgramTogetherReturnAPlanAndItsCycles) {
  const Program program = testing::LayeredProgram(700);
  const ProgramRules rules = testing::EverythingMatters(program);
  const ProgramFacts facts(rules);
  const PlayedPlan start = Played(rules, Plan(rules.access_count(), Action::kDrop));
  SolveOptions options;
  options.max_games = 6000;
  options.threads = 3;
  SearchBudget budget(options);
  const PlayedPlan found = *LocalSearchSolver().Improve(facts, {&start, 1}, 1, budget);
  EXPECT_LT(found.cycles, start.cycles);
  EXPECT_EQ(Played(rules, found.plan).cycles, found.cycles);
}

// Its own gains may lose on the other search's plan.
TEST(LocalSearch, OfALongProgramKeepsTheBetterPlanOfAnotherSearch) {
  const Program program = testing::LayeredProgram(700);
  const ProgramRules rules = testing::EverythingMatters(program);
  const ProgramFacts facts(rules);
  const NeighbourhoodTables tables(facts);
  const PlayedPlan start = Played(rules, Plan(rules.access_count(), Action::kDrop));
  const auto search = [&](uint64_t seed, PlanExchange* exchange) {
    SolveOptions options;
    options.max_games = 10'000;
    SearchBudget budget(options);
    return LocalSearch(tables, seed, budget, exchange).Run({&start, 1});
  };
  const PlayedPlan other = search(1, nullptr);
  PlanExchange exchange;
  exchange.Offer(other.plan, other.cycles);
  EXPECT_LE(search(2, &exchange).cycles, other.cycles);
}

// The rules allow nothing but HBM for the only access, because no copy can be done before it. Tries
// play nothing, so that no number of games would end the search.
TEST(LocalSearch, EndsWithoutABudgetIfNothingIsLeftToPlay) {
  testing::ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(100, {testing::Read(value, 10)});
  const Program program = builder.Build();
  const ProgramRules rules = ProgramRules::Create(program);
  ASSERT_TRUE(ProgramFacts(rules).IsMovable(0));
  const Solution solution = *Solve("local_search", rules, {});
  EXPECT_EQ(solution.cycles, 100);
  EXPECT_LT(solution.games, 100);
}

}  // namespace
}  // namespace mallocmuzero
