// The heuristic's choices on programs small enough to make them by hand. 1024 bytes of fast memory;
// HBM moves 10 bytes a cycle.

#include "env/solvers/xla_like.h"

#include "base/testing/index_matching.h"
#include "env/program_rules.h"
#include "env/solvers/solve.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// Instruction 0 leaves time for copies, 1 reads two buffers that do not both fit.
Solution SolveFor(int64_t first_bytes, double first_saves, int64_t second_bytes,
                  double second_saves, double cycles_before = 100) {
  ProgramBuilder builder;
  const BufferIndex first = builder.AddBuffer(first_bytes, {.live_in = true});
  const BufferIndex second = builder.AddBuffer(second_bytes, {.live_in = true});
  builder.AddInstruction(cycles_before);
  builder.AddInstruction(200, {Read(first, first_saves), Read(second, second_saves)});
  const Program program = builder.Build();
  const ProgramRules rules = ProgramRules::Create(program);
  return *Solve("xla_like", rules, {});
}

TEST(XlaLike, PrefersTheBufferOfMoreBenefit) {
  const Solution solution = SolveFor(600, 10, 600, 30);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(0, 1));
  EXPECT_EQ(solution.cycles, 100 + 200 - 30);
}

TEST(XlaLike, WeighsTheBenefitByTheRootOfTheSize) {
  // 30 / sqrt(900) = 1 and 25 / sqrt(400) = 1.25.
  const Solution solution = SolveFor(900, 30, 400, 25);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(0, 1));
  EXPECT_EQ(solution.cycles, 100 + 200 - 25);
}

TEST(XlaLike, TakesWhatIsLeftForTheNextBest) {
  const Solution solution = SolveFor(600, 30, 400, 10);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(1, 1));
  EXPECT_EQ(solution.cycles, 100 + 200 - 40);
}

TEST(XlaLike, CopiesOnlyBesideEnoughWork) {
  // A copy of 600 bytes takes 60 cycles and wants 0.8 x 60 = 48 beside it.
  EXPECT_THAT(SolveFor(600, 30, 900, 0, 47).mapping.in_fast_memory, ElementsAre(0, 0));
  EXPECT_THAT(SolveFor(600, 30, 900, 0, 60).mapping.in_fast_memory, ElementsAre(1, 0));
}

Solution SolveProgram(const ProgramBuilder& builder) {
  const Program program = builder.Build();
  return *Solve("xla_like", ProgramRules::Create(program), {});
}

TEST(XlaLike, KeepsAMadeValueUpToItsUse) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(600);
  builder.AddInstruction(100, {Write(value, 10)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(value, 20)});
  const Solution solution = SolveProgram(builder);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(1, 1));
  EXPECT_EQ(solution.cycles, 300 - 30);
}

// The larger value has its place up to instruction 1. The copy of the other takes 60 cycles and
// goes beside the 100 of instruction 2.
TEST(XlaLike, CopiesInWhatHasNoPlaceWhereItIsMade) {
  ProgramBuilder builder;
  const BufferIndex large = builder.AddBuffer(800);
  const BufferIndex value = builder.AddBuffer(600);
  builder.AddInstruction(100, {Write(large, 40), Write(value, 10)});
  builder.AddInstruction(100, {Read(large, 40)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(value, 20)});
  const Solution solution = SolveProgram(builder);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(1, 0, 1, 1));
  EXPECT_EQ(solution.cycles, 400 - 40 - 40 - 20);
}

}  // namespace
}  // namespace mallocmuzero
