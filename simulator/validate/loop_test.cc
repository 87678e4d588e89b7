// Tests of values and copies in loops: what one pass leaves to the next, and nested loops.

#include <cstdint>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/validate/test_util.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Update;

// One live-in buffer that the loop's body reads at 3, and that is read again at 6, after the loop:
//   0: nothing  1: begin  2: nothing  3: access 0  4: nothing  5: end  6: read (access 1)
class OutsideBufferTest : public ::testing::Test {
 protected:
  explicit OutsideBufferTest(bool body_updates = false) : program_(MakeProgram(body_updates)) {}

  static Program MakeProgram(bool body_updates) {
    ProgramBuilder builder;
    const BufferIndex buffer = builder.AddBuffer(64, {.live_in = true});
    builder.AddInstruction(10);
    builder.BeginLoop(5);
    builder.AddInstruction(10);
    builder.AddInstruction(10, {body_updates ? Update(buffer) : Read(buffer)});
    builder.AddInstruction(10);
    builder.EndLoop();
    builder.AddInstruction(10, {Read(buffer)});
    return builder.Build();
  }

  std::vector<Violation> Judge(std::vector<Interval> intervals,
                               const std::vector<AccessIndex>& fast_accesses) const {
    return Validate(program_, MakeMapping(program_, std::move(intervals), fast_accesses));
  }

  Program program_;
};

TEST_F(OutsideBufferTest, MayStayForTheWholeLoop) {
  EXPECT_THAT(Judge({{.last = 5, .copy_in_start = 0, .copy_in_done = 1}}, {0}), IsEmpty());
}

TEST_F(OutsideBufferTest, IsGoneForTheSecondPassIfItsIntervalEndsInTheBody) {
  const std::vector<Violation> violations =
      Judge({{.last = 4, .copy_in_start = 0, .copy_in_done = 1}}, {0});
  ASSERT_THAT(violations, BreaksOnly(Rule::kFastMemoryStale));
  EXPECT_THAT(violations[0].message, HasSubstr("in a later pass of loop 0 ('while.1')"));
}

TEST_F(OutsideBufferTest, MayBeCopiedInEveryPass) {
  EXPECT_THAT(Judge({{.first = 2, .last = 3, .copy_in_start = 2, .copy_in_done = 3}}, {0}),
              IsEmpty());
}

TEST_F(OutsideBufferTest, KeepsWhatTheLastPassCopiedIn) {
  EXPECT_THAT(Judge({{.first = 2, .last = 6, .copy_in_start = 2, .copy_in_done = 3}}, {0, 1}),
              IsEmpty());
}

TEST_F(OutsideBufferTest, IsNotCopiedIntoTheBodyFromOutside) {
  EXPECT_THAT(Judge({{.last = 5, .copy_in_start = 0, .copy_in_done = 3}}, {0}),
              BreaksOnly(Rule::kCopyAcrossLoop));
  // The point before the begin marker is outside the loop, the point after it is inside.
  EXPECT_THAT(Judge({{.last = 5, .copy_in_start = 1, .copy_in_done = 2}}, {0}),
              BreaksOnly(Rule::kCopyAcrossLoop));
}

TEST_F(OutsideBufferTest, IsNotCopiedOutOfTheBodyToTheOutside) {
  EXPECT_THAT(Judge({{.first = 4, .last = 6, .copy_in_start = 4, .copy_in_done = 6}}, {1}),
              BreaksOnly(Rule::kCopyAcrossLoop));
  EXPECT_THAT(Judge({{.first = 4, .last = 6, .copy_in_start = 4, .copy_in_done = 5}}, {1}),
              IsEmpty());
}

TEST_F(OutsideBufferTest, MayBeCopiedBehindTheWholeLoop) {
  EXPECT_THAT(Judge({{.last = 6, .copy_in_start = 0, .copy_in_done = 6}}, {1}), IsEmpty());
}

class UpdatedOutsideBufferTest : public OutsideBufferTest {
 protected:
  UpdatedOutsideBufferTest() : OutsideBufferTest(/*body_updates=*/true) {}
};

TEST_F(UpdatedOutsideBufferTest, MayStayForTheWholeLoop) {
  EXPECT_THAT(Judge({{.last = 6, .copy_in_start = 0, .copy_in_done = 1}}, {0, 1}), IsEmpty());
}

TEST_F(UpdatedOutsideBufferTest, LeavesTheValueToTheNextPassInHbm) {
  Interval it = {.first = 2, .last = 4, .copy_in_start = 2, .copy_in_done = 3};
  it.copy_out_start = 4;
  it.copy_out_done = 5;
  EXPECT_THAT(Judge({it}, {0}), IsEmpty());
}

TEST_F(UpdatedOutsideBufferTest, MissesTheWriteBackOnlyInTheSecondPass) {
  const std::vector<Violation> violations =
      Judge({{.first = 2, .last = 6, .copy_in_start = 2, .copy_in_done = 3}}, {0, 1});
  ASSERT_THAT(violations, BreaksOnly(Rule::kCopySourceStale));
  EXPECT_THAT(violations[0].message, HasSubstr("in a later pass of loop 0"));
}

// Two nested loops:
//   0: nothing  1: begin outer  2: nothing  3: begin inner  4: read  5: end inner  6: nothing
//   7: end outer
class NestTest : public ::testing::Test {
 protected:
  NestTest() : program_(MakeProgram()) {}

  static Program MakeProgram() {
    ProgramBuilder builder;
    const BufferIndex buffer = builder.AddBuffer(64, {.live_in = true});
    builder.AddInstruction(10);
    builder.BeginLoop(3);
    builder.AddInstruction(10);
    builder.BeginLoop(4);
    builder.AddInstruction(10, {Read(buffer)});
    builder.EndLoop();
    builder.AddInstruction(10);
    builder.EndLoop();
    return builder.Build();
  }

  std::vector<Violation> Judge(InstructionIndex first, InstructionIndex last,
                               InstructionIndex copy_done) const {
    return Validate(
        program_,
        MakeMapping(
            program_,
            {{.first = first, .last = last, .copy_in_start = first, .copy_in_done = copy_done}},
            {0}));
  }

  Program program_;
};

TEST_F(NestTest, KeepsAnOutsideBufferOverBothLoops) { EXPECT_THAT(Judge(0, 7, 1), IsEmpty()); }

TEST_F(NestTest, LosesWhatEndsAfterTheInnerLoop) {
  const std::vector<Violation> violations = Judge(0, 5, 1);
  ASSERT_THAT(violations, BreaksOnly(Rule::kFastMemoryStale));
  EXPECT_THAT(violations[0].message, HasSubstr("in a later pass of loop 0 ('while.1')"));
}

TEST_F(NestTest, KeepsWhatThePassOfTheOuterLoopCopiedIn) {
  EXPECT_THAT(Judge(2, 5, 3), IsEmpty());
  const std::vector<Violation> violations = Judge(2, 4, 3);
  ASSERT_THAT(violations, BreaksOnly(Rule::kFastMemoryStale));
  EXPECT_THAT(violations[0].message, HasSubstr("in a later pass of loop 1 ('while.3')"));
}

TEST_F(NestTest, CopiesInTheInnermostBody) { EXPECT_THAT(Judge(4, 4, 4), IsEmpty()); }

TEST_F(NestTest, DoesNotCopyFromTheOuterBodyIntoTheInner) {
  EXPECT_THAT(Judge(2, 5, 4), BreaksOnly(Rule::kCopyAcrossLoop));
}

TEST(DeepNest, IsWalkedInBoundedTime) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(64, {.live_in = true});
  for (int depth = 0; depth < 40; ++depth) builder.BeginLoop(1);
  builder.AddInstruction(10, {Read(buffer)});
  for (int depth = 0; depth < 40; ++depth) builder.EndLoop();
  const Program program = builder.Build();
  EXPECT_THAT(Validate(program, AllHbmMapping(program)), IsEmpty());
}

// Each loop hands on what the loop before it handed on. Time in the square of their number would be
// minutes.
TEST(ManyLoops, AreWalkedInLinearTime) {
  constexpr int kLoops = 50'000;
  ProgramBuilder builder;
  std::vector<Interval> intervals;
  const BufferIndex first = builder.AddBuffer(64, {.live_in = true});
  intervals.push_back({.buffer = first, .copy_in_start = 0, .copy_in_done = 0});
  for (int i = 0; i < kLoops; ++i) {
    const BufferIndex given = intervals.back().buffer;
    const BufferIndex carried = builder.AddBuffer(64);
    const BufferIndex result = builder.AddBuffer(64);
    const LoopIndex loop = builder.BeginLoop(5);
    builder.EndLoop();
    builder.AddCarriedGroup(loop, given, carried, carried, result);
    // The loop has no instructions but its markers.
    const InstructionIndex begin(2 * i);
    intervals.back().last = begin;
    intervals.push_back({.buffer = carried, .first = begin, .last = begin + 1});
    intervals.push_back({.buffer = result, .first = begin + 1, .last = begin + 1});
  }
  const Program program = builder.Build();
  EXPECT_THAT(Validate(program, MakeMapping(program, intervals, {})), IsEmpty());

  // The value between the last two loops is at another offset than in them.
  intervals[2 * (kLoops - 1)].offset = 64;
  EXPECT_THAT(Validate(program, MakeMapping(program, intervals, {})),
              Breaks(Rule::kCarriedGroupOffset));
}

}  // namespace
}  // namespace mallocmuzero::validate
