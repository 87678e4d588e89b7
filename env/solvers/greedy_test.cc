// The greedy player's choices on programs small enough to make them by hand. HBM moves 10 bytes a
// cycle.

#include "env/solvers/greedy.h"

#include "base/testing/index_matching.h"
#include "env/action.h"
#include "env/program_rules.h"
#include "env/solvers/solve.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

Solution PlayedGreedily(const ProgramBuilder& builder) {
  const Program program = builder.Build();
  const ProgramRules rules = testing::EverythingMatters(program);
  return *Solve("greedy", rules, {});
}

TEST(Greedy, CopiesWhatSavesCyclesAndNothingElse) {
  ProgramBuilder builder;
  const BufferIndex saves = builder.AddBuffer(96, {.live_in = true});
  const BufferIndex loses = builder.AddBuffer(96, {.live_in = true});
  const BufferIndex neither = builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(saves, 5), Read(loses, -5), Read(neither, 0)});
  const Solution solution = PlayedGreedily(builder);
  EXPECT_THAT(solution.actions, ElementsAre(Action::kCopy, Action::kDrop, Action::kDrop));
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(1, 0, 0));
  EXPECT_EQ(solution.cycles, 100 + 100 - 5);
}

// Together the two reads take no less than 75 cycles. After the first one, which saves 25, nothing
// is left for the second.
TEST(Greedy, AReadSavesWhatTheOthersOfItsInstructionLeave) {
  ProgramBuilder builder;
  const BufferIndex first = builder.AddBuffer(96, {.live_in = true});
  const BufferIndex second = builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(100);
  builder.SetBounds(builder.AddInstruction(100, {Read(first, 30), Read(second, 30)}), 75, 200);
  const Solution solution = PlayedGreedily(builder);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(1, 0));
  EXPECT_EQ(solution.cycles, 100 + 75);
}

// A write that loses 5 cycles and a read that saves some.
ProgramBuilder LosingWrite(double saved_by_read) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(96);
  builder.AddInstruction(50, {Write(value, -5)});
  builder.AddInstruction(50, {Read(value, saved_by_read)});
  return builder;
}

TEST(Greedy, AWriteSavesWhatTheReadsOfItsValueSave) {
  const Solution more = PlayedGreedily(LosingWrite(8));
  EXPECT_THAT(more.actions, ElementsAre(Action::kNoCopy));
  EXPECT_THAT(more.mapping.in_fast_memory, ElementsAre(1, 1));
  EXPECT_EQ(more.cycles, 100 + 5 - 8);
  const Solution less = PlayedGreedily(LosingWrite(4));
  EXPECT_THAT(less.mapping.in_fast_memory, ElementsAre(0, 0));
  EXPECT_EQ(less.cycles, 100);
}

// The write loses 10 x 5 cycles, the read saves 10 x 1.
TEST(Greedy, AWriteInALoopLosesInEveryPass) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(96);
  builder.BeginLoop(10);
  builder.AddInstruction(50, {Write(value, -5)});
  builder.AddInstruction(50, {Read(value, 1)});
  builder.EndLoop();
  const Solution solution = PlayedGreedily(builder);
  EXPECT_THAT(solution.mapping.in_fast_memory, ElementsAre(0, 0));
  EXPECT_EQ(solution.cycles, 10 * 100);
}

}  // namespace
}  // namespace mallocmuzero
