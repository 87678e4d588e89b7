#include "env/solvers/fewest_cycles.h"

#include <vector>

#include "env/program_rules.h"
#include "env/testing/games.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

// One instruction of 1000 cycles reads `count` inputs. The first half save 10 cycles each, and the
// others cost 5 each.
Program Fusion(int count) {
  testing::ProgramBuilder builder;
  std::vector<testing::AccessSpec> reads;
  for (int k = 0; k < count; ++k) {
    reads.push_back(
        testing::Read(builder.AddBuffer(16, {.live_in = true}), k < count / 2 ? 10 : -5));
  }
  builder.AddInstruction(100);
  builder.AddInstruction(1000, reads);
  return builder.Build();
}

TEST(FewestCycles, AreExactForFewAccesses) {
  const Program program = Fusion(12);
  const ProgramRules rules = testing::EverythingMatters(program);
  EXPECT_EQ(FewestCycles(rules, 1), 1000 - 60);
  EXPECT_EQ(FewestCyclesFound(rules, 1), 1000 - 60);
}

TEST(FewestCycles, OfManyAccessesAreFoundAndNotBounded) {
  const Program program = Fusion(40);
  const ProgramRules rules = testing::EverythingMatters(program);
  EXPECT_EQ(FewestCycles(rules, 1), 0);
  EXPECT_EQ(FewestCyclesFound(rules, 1), 1000 - 200);
}

}  // namespace
}  // namespace mallocmuzero
