#include "env/solvers/local_search.h"

#include <cstdint>
#include <random>

#include "env/game_rules.h"
#include "env/solvers/solver.h"
#include "env/testing/tiny_program.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(LocalSearch, FindsTheOptimumOfNearlyAllTinyPrograms) {
  constexpr int kPrograms = 40;
  int found = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(1000 + seed);
    const Program program = testing::TinyProgram(random, 16);
    const GameRules rules = *GameRules::Create(program);
    const double optimum = Solve("exhaustive", rules, {})->cycles;
    SolveOptions options;
    options.max_games = 2000;
    const double cycles = Solve("local_search", rules, options)->cycles;
    EXPECT_GE(cycles, optimum * (1 - 1e-12)) << "seed " << seed;
    if (cycles <= optimum * (1 + 1e-9)) ++found;
  }
  EXPECT_GE(found, kPrograms * 95 / 100);
}

}  // namespace
}  // namespace mallocmuzero
