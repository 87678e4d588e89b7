#include "simulator/bound/link_spans.h"

#include <random>
#include <vector>

#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::bound {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ProgramBuilder;

IndexVector<InstructionIndex, double> AllHbm(const Program& program) {
  IndexVector<InstructionIndex, double> cycles;
  for (const InstructionIndex i : program.instructions().indices()) {
    cycles.push_back(program.latency().Cycles(i, 0));
  }
  return cycles;
}

std::vector<LinkSpan> SpansOf(const Program& program) {
  return FindLinkSpans(program, AllHbm(program));
}

// Four instructions of 10 cycles.
ProgramBuilder FourInstructions() {
  ProgramBuilder builder;
  for (int i = 0; i < 4; ++i) builder.AddInstruction(10);
  return builder;
}

TEST(LinkSpans, AreWhereTheLinksTakeLongerThanTheInstructions) {
  ProgramBuilder builder = FourInstructions();
  EXPECT_THAT(SpansOf(builder.Build()), IsEmpty());
  builder.AddCollective(1, 3, 19);  // as long as it takes to run instructions 1 and 2
  EXPECT_THAT(SpansOf(builder.Build()), IsEmpty());
  builder = FourInstructions();
  builder.AddCollective(1, 3, 25);
  EXPECT_THAT(SpansOf(builder.Build()), ElementsAre(LinkSpan{1, 3, 25}));
}

// Each of two collectives alone is hidden, but the second one begins when the first one is done.
TEST(LinkSpans, HaveTheWorkOfAllCollectivesFromTheFirstToTheLast) {
  ProgramBuilder builder = FourInstructions();
  builder.AddCollective(0, 3, 18);
  builder.AddCollective(1, 3, 18);
  EXPECT_THAT(SpansOf(builder.Build()), ElementsAre(LinkSpan{0, 3, 36}));
}

TEST(LinkSpans, MayEndWithTheProgram) {
  ProgramBuilder builder = FourInstructions();
  builder.AddCollective(3, 4, 25);
  EXPECT_THAT(SpansOf(builder.Build()), ElementsAre(LinkSpan{3, 4, 25}));
}

TEST(LinkSpans, LeaveOutInstructionsOfOtherLoops) {
  ProgramBuilder builder;
  builder.AddInstruction(10);
  builder.BeginLoop(3);
  const InstructionIndex begin = builder.AddInstruction(10);
  const InstructionIndex end = builder.AddInstruction(10);
  builder.EndLoop();
  builder.AddInstruction(10);
  builder.AddCollective(0, end, 100);
  builder.AddCollective(begin, end, 25);
  EXPECT_THAT(SpansOf(builder.Build()), ElementsAre(LinkSpan{begin, end, 75}));
}

TEST(LinkSpans, MayRunMoreThan32BitsOftenInALoop) {
  ProgramBuilder builder;
  builder.BeginLoop(int64_t{1} << 33);
  const InstructionIndex begin = builder.AddInstruction(10);
  const InstructionIndex end = builder.AddInstruction(10);
  builder.EndLoop();
  builder.AddCollective(begin, end, 25);
  EXPECT_THAT(SpansOf(builder.Build()), ElementsAre(LinkSpan{begin, end, 25 * 0x1p33}));
}

TEST(LinkSpans, AreNotLongerThanTheProgramTakes) {
  std::mt19937_64 random(3);
  int with_spans = 0;
  for (int k = 0; k < 200; ++k) {
    const Program program = ::mallocmuzero::testing::RandomProgramWithCollectives(random);
    const std::vector<LinkSpan> spans = SpansOf(program);
    const Counted counted = OutsideOf(program, spans);
    double cycles = 0;
    for (const InstructionIndex i : program.instructions().indices()) {
      cycles += counted.executions[i] * program.latency().Cycles(i, 0);
    }
    for (const LinkSpan& span : spans) cycles += span.cycles;
    const Price price = SimulateAllHbm(program);
    EXPECT_LE(cycles, price.total_cycles * (1 + 1e-9)) << "program " << k;
    if (!spans.empty()) {
      EXPECT_GT(cycles, price.estimated_cycles + price.modelled_cycles);
    }
    with_spans += spans.empty() ? 0 : 1;
  }
  EXPECT_GT(with_spans, 20);
}

}  // namespace
}  // namespace mallocmuzero::bound
