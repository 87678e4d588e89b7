// The comparison with the compiler's default, whose two prices differ.

#include "env/solvers/portfolio.h"

#include <cstdint>
#include <utility>

#include "env/program_rules.h"
#include "env/solvers/solve.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

// 200 cycles in HBM. Of two buffers that save 40 and 30 cycles only one fits into fast memory, so
// that the best game takes 160.
constexpr double kBestCycles = 160;

// The default's module takes `compiled_cycles`. As a mapping the default takes 130 cycles if it is
// fast: a baseline may have accesses in fast memory without intervals. Otherwise it takes 200.
Program WithDefault(double compiled_cycles, bool is_fast) {
  testing::ProgramBuilder builder;
  const BufferIndex one = builder.AddBuffer(600, {.live_in = true});
  const BufferIndex two = builder.AddBuffer(600, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {testing::Read(one, 40), testing::Read(two, 30)});
  v1::Program proto = builder.BuildProto();
  proto.mutable_baseline()->set_packed(true);
  proto.mutable_baseline()->set_total_cycles(compiled_cycles);
  for (int access = 0; access < 2; ++access) {
    proto.mutable_baseline()->mutable_mapping()->add_in_fast_memory(is_fast);
  }
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

Solution Best(const Program& program) {
  const ProgramRules rules = ProgramRules::Create(program);
  SolveOptions options;
  options.max_games = 100;
  return *Solve("portfolio", rules, options);
}

// The default as a mapping costs less than any game, and its module costs more.
TEST(Portfolio, AMappingBetweenTheTwoPricesOfTheDefaultIsBetterThanTheDefault) {
  const Program program = WithDefault(kBestCycles + 1, /*is_fast=*/true);
  ASSERT_LT(Simulate(program, program.baseline()->mapping).total_cycles, kBestCycles);
  const Solution solution = Best(program);
  EXPECT_NE(solution.solver, "default");
  EXPECT_EQ(solution.cycles, kBestCycles);
}

// The default's module costs less than the best game, and the default as a mapping costs more.
TEST(Portfolio, TheDefaultIsKeptIfAMappingIsOnlyBetterThanItsMapping) {
  const Program program = WithDefault(kBestCycles - 1, /*is_fast=*/false);
  ASSERT_GT(Simulate(program, program.baseline()->mapping).total_cycles, kBestCycles);
  const Solution solution = Best(program);
  EXPECT_EQ(solution.solver, "default");
  EXPECT_EQ(solution.cycles, kBestCycles - 1);
}

TEST(Portfolio, TheDefaultIsKeptIfAMappingCostsAsMuch) {
  EXPECT_EQ(Best(WithDefault(kBestCycles, /*is_fast=*/false)).solver, "default");
}

TEST(Portfolio, OnlyAKeptDefaultHasThePriceOfItsModule) {
  const Program program = WithDefault(123, /*is_fast=*/false);
  const ProgramRules rules = ProgramRules::Create(program);
  EXPECT_EQ(Best(program).cycles, 123);
  EXPECT_EQ(Solve("default", rules, {})->cycles, 200);
}

}  // namespace
}  // namespace mallocmuzero
