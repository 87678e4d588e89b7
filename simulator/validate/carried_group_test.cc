// Tests of carried groups: at the markers of their loop they are in one memory at one offset, and
// the value passes there.

#include <cstdint>
#include <vector>

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
using testing::Write;

// A loop that carries one value:
//   0: write initial   1: begin   2: read parameter   3: write root   4: nothing   5: end
//   6: read result
class CarriedGroupTest : public ::testing::Test {
 protected:
  CarriedGroupTest() : program_(MakeProgram()) {}

  static Program MakeProgram() {
    ProgramBuilder builder;
    for (int b = 0; b < 4; ++b) builder.AddBuffer(64);
    builder.AddInstruction(10, {Write(kInitial)});
    const LoopIndex loop = builder.BeginLoop(5);
    builder.AddInstruction(10, {Read(kParameter)});
    builder.AddInstruction(10, {Write(kRoot)});
    builder.AddInstruction(10);
    builder.EndLoop();
    builder.AddInstruction(10, {Read(kResult)});
    builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
    return builder.Build();
  }

  static std::vector<Interval> FastIntervals() {
    return {{.buffer = kInitial, .first = 0, .last = 1},
            {.buffer = kParameter, .first = 1, .last = 2},
            {.buffer = kRoot, .first = 3, .last = 5},
            {.buffer = kResult, .first = 5, .last = 6}};
  }

  std::vector<Violation> Judge(std::vector<Interval> intervals,
                               const std::vector<AccessIndex>& fast_accesses) const {
    return Validate(program_, MakeMapping(program_, std::move(intervals), fast_accesses));
  }

  // Indices of the buffers, and of the accesses to them.
  static constexpr uint32_t kInitial = 0;
  static constexpr uint32_t kParameter = 1;
  static constexpr uint32_t kRoot = 2;
  static constexpr uint32_t kResult = 3;

  Program program_;
};

TEST_F(CarriedGroupTest, MayStayInHbm) { EXPECT_THAT(Judge({}, {}), IsEmpty()); }

TEST_F(CarriedGroupTest, MayStayInFastMemory) {
  EXPECT_THAT(Judge(FastIntervals(), {kInitial, kParameter, kRoot, kResult}), IsEmpty());
}

TEST_F(CarriedGroupTest, HasOneOffset) {
  std::vector<Interval> intervals = FastIntervals();
  intervals[kResult].offset = 64;
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kRoot, kResult}),
              BreaksOnly(Rule::kCarriedGroupOffset));
  for (Interval& it : intervals) it.offset = 64;
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kRoot, kResult}), IsEmpty());
}

TEST_F(CarriedGroupTest, IsInOneSpaceAtTheExit) {
  std::vector<Interval> intervals = FastIntervals();
  intervals.pop_back();
  const std::vector<Violation> violations = Judge(intervals, {kInitial, kParameter, kRoot});
  ASSERT_THAT(violations, BreaksOnly(Rule::kCarriedGroupSpace));
  EXPECT_THAT(violations[0].message, HasSubstr("carried group 0 of loop 0 ('while.1')"));
  EXPECT_THAT(violations[0].message, HasSubstr("result buffer 3"));
}

TEST_F(CarriedGroupTest, IsInOneSpaceAtTheBackEdge) {
  std::vector<Interval> intervals = FastIntervals();
  intervals[kRoot].last = 4;
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kRoot, kResult}),
              BreaksOnly(Rule::kCarriedGroupSpace));
}

TEST_F(CarriedGroupTest, IsInOneSpaceAtTheEntry) {
  std::vector<Interval> intervals = FastIntervals();
  intervals.erase(intervals.begin() + kInitial);
  EXPECT_THAT(Judge(intervals, {kParameter, kRoot, kResult}), BreaksOnly(Rule::kCarriedGroupSpace));
}

TEST_F(CarriedGroupTest, HasOneIntervalWhereItPasses) {
  std::vector<Interval> intervals = FastIntervals();
  intervals.push_back({.buffer = kParameter, .first = 1, .last = 1, .offset = 64});
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kRoot, kResult}),
              BreaksOnly(Rule::kAmbiguousInterval));
}

TEST_F(CarriedGroupTest, EntersInHbmOnlyWhenWrittenBack) {
  Interval initial = {.buffer = kInitial, .first = 0, .last = 1};
  EXPECT_THAT(Judge({initial}, {kInitial}), BreaksOnly(Rule::kCarriedValueLost));
  initial.copy_out_start = 1;
  initial.copy_out_done = 1;
  EXPECT_THAT(Judge({initial}, {kInitial}), IsEmpty());
}

TEST_F(CarriedGroupTest, MayMoveToFastMemoryAndBackInsideTheBody) {
  const Interval parameter = {
      .buffer = kParameter, .first = 2, .last = 2, .copy_in_start = 2, .copy_in_done = 2};
  Interval root = {.buffer = kRoot, .first = 3, .last = 4};
  EXPECT_THAT(Judge({parameter, root}, {kParameter, kRoot}), BreaksOnly(Rule::kCarriedValueLost));
  root.copy_out_start = 4;
  root.copy_out_done = 5;
  EXPECT_THAT(Judge({parameter, root}, {kParameter, kRoot}), IsEmpty());
}

TEST_F(CarriedGroupTest, MayMoveToHbmAndBackInsideTheBody) {
  std::vector<Interval> intervals = FastIntervals();
  intervals[kRoot] = {
      .buffer = kRoot, .first = 4, .last = 5, .copy_in_start = 4, .copy_in_done = 5};
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kResult}), IsEmpty());
  // Without the copy, the next pass does not find the value in fast memory.
  intervals[kRoot].copy_in_start = intervals[kRoot].copy_in_done = -1;
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kResult}),
              BreaksOnly(Rule::kCarriedValueLost));
}

TEST_F(CarriedGroupTest, PassesInOneSpaceOnlyAlthoughTheInitialValueIsInBoth) {
  std::vector<Interval> intervals = FastIntervals();
  intervals[kInitial] = {
      .buffer = kInitial, .first = 1, .last = 1, .copy_in_start = 1, .copy_in_done = 1};
  EXPECT_THAT(Judge(intervals, {kParameter, kRoot, kResult}), IsEmpty());
  EXPECT_THAT(Judge(intervals, {kRoot, kResult}), BreaksOnly(Rule::kHbmStale));
}

TEST_F(CarriedGroupTest, SharesItsBytesWithNobodyElseAtTheMarker) {
  std::vector<Interval> intervals = FastIntervals();
  intervals[kParameter].copy_in_start = intervals[kParameter].copy_in_done = 1;
  // A copy of the parameter before the marker would overwrite the initial value that the parameter
  // takes over.
  EXPECT_THAT(Judge(intervals, {kInitial, kParameter, kRoot, kResult}), Breaks(Rule::kOverlap));
}

// The body writes the parameter where the initial value still has its bytes.
TEST(CarriedGroup, HandsItsBytesOnAtTheMarkerOnly) {
  ProgramBuilder builder;
  const BufferIndex initial = builder.AddBuffer(64);
  const BufferIndex parameter = builder.AddBuffer(64);
  const BufferIndex root = builder.AddBuffer(64);
  const BufferIndex result = builder.AddBuffer(64);
  builder.AddInstruction(10, {Write(initial)});
  const LoopIndex loop = builder.BeginLoop(5);
  builder.AddInstruction(10, {Read(initial), Write(parameter)});
  builder.AddInstruction(10, {Write(root)});
  builder.EndLoop();
  builder.AddInstruction(10, {Read(result)});
  builder.AddCarriedGroup(loop, initial, parameter, root, result);
  const Program program = builder.Build();
  const Interval outside{
      .buffer = initial, .first = 0, .last = 2, .copy_out_start = 1, .copy_out_done = 1};
  Interval inside{.buffer = parameter, .first = 2, .last = 2};
  EXPECT_THAT(Validate(program, MakeMapping(program, {outside, inside}, {0, 2})),
              BreaksOnly(Rule::kOverlap));
  inside.offset = 64;
  EXPECT_THAT(Validate(program, MakeMapping(program, {outside, inside}, {0, 2})), IsEmpty());
}

TEST_F(CarriedGroupTest, IsRefusedACopyOfTheParameterBeforeItExists) {
  const Interval parameter = {
      .buffer = kParameter, .first = 2, .last = 2, .copy_in_start = 2, .copy_in_done = 2};
  EXPECT_THAT(Judge({parameter}, {kParameter}), IsEmpty());
  Interval early = parameter;
  early.first = 0;
  early.copy_in_start = early.copy_in_done = 0;
  EXPECT_THAT(Judge({early}, {}), Breaks(Rule::kCopySourceStale));
}

// A value that the body hands on unchanged: parameter and root are the same buffer.
TEST(InvariantGroup, StaysFromInitialToResult) {
  ProgramBuilder builder;
  const BufferIndex initial = builder.AddBuffer(64, {.live_in = true});
  const BufferIndex inside = builder.AddBuffer(64);
  const BufferIndex result = builder.AddBuffer(64);
  builder.AddInstruction(10);
  const LoopIndex loop = builder.BeginLoop(5);
  builder.AddInstruction(10, {Read(inside)});
  builder.AddInstruction(10);
  builder.EndLoop();
  builder.AddInstruction(10, {Read(result)});
  builder.AddCarriedGroup(loop, initial, inside, inside, result);
  const Program program = builder.Build();

  std::vector<Interval> intervals = {
      {.buffer = initial, .first = 0, .last = 1, .copy_in_start = 0, .copy_in_done = 1},
      {.buffer = inside, .first = 1, .last = 4},
      {.buffer = result, .first = 4, .last = 5}};
  EXPECT_THAT(Validate(program, MakeMapping(program, intervals, {0, 1})), IsEmpty());
  intervals[1].last = 3;
  EXPECT_THAT(Validate(program, MakeMapping(program, intervals, {0, 1})),
              BreaksOnly(Rule::kCarriedGroupSpace));
}

// All four are the same buffer, as for an input that the loop only reads.
TEST(InvariantGroup, OfOneBufferIsAnOutsideBuffer) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10, {Read(buffer)});
  const LoopIndex loop = builder.BeginLoop(5);
  builder.AddInstruction(10, {Read(buffer)});
  builder.EndLoop();
  builder.AddInstruction(10, {Read(buffer)});
  builder.AddCarriedGroup(loop, buffer, buffer, buffer, buffer);
  const Program program = builder.Build();
  const auto judge = [&](InstructionIndex first, InstructionIndex last,
                         const std::vector<AccessIndex>& fast) {
    return Validate(program, MakeMapping(program,
                                         {{.buffer = buffer,
                                           .first = first,
                                           .last = last,
                                           .copy_in_start = first,
                                           .copy_in_done = first}},
                                         fast));
  };
  EXPECT_THAT(judge(0, 4, {0, 1, 2}), IsEmpty());
  EXPECT_THAT(judge(2, 2, {1}), IsEmpty());  // copied in each pass
  EXPECT_THAT(judge(0, 1, {0}), IsEmpty());  // the interval ends at the begin marker
  // the interval contains only the end marker
  EXPECT_THAT(judge(3, 4, {2}), Breaks(Rule::kCarriedGroupSpace));
}

// A loop hands the buffer on to itself in fast memory. Its copy in HBM stays current.
TEST(InvariantGroup, OfOneBufferIsCurrentInBothMemories) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10);
  const LoopIndex loop = builder.BeginLoop(5);
  builder.AddInstruction(10, {Read(buffer)});
  builder.EndLoop();
  builder.AddInstruction(10, {Read(buffer)});
  builder.AddCarriedGroup(loop, buffer, buffer, buffer, buffer);
  const Program program = builder.Build();
  const Interval copied{
      .buffer = buffer, .first = 0, .last = 4, .copy_in_start = 0, .copy_in_done = 1};
  EXPECT_THAT(Validate(program, MakeMapping(program, {copied}, {0})), IsEmpty());
  EXPECT_THAT(Validate(program, MakeMapping(program, {copied}, {1})), IsEmpty());
}

// Nested loops: the outer parameter is the inner initial value, and the inner result is the outer
// root.
//   0: write initial  1: begin outer  2: begin inner  3: update  4: end inner  5: end outer
//   6: read result
TEST(NestedGroups, HandOneValueOnThroughBothLoops) {
  ProgramBuilder builder;
  const BufferIndex initial = builder.AddBuffer(64);
  const BufferIndex outer_parameter = builder.AddBuffer(64);
  const BufferIndex inside = builder.AddBuffer(64);
  const BufferIndex outer_root = builder.AddBuffer(64);
  const BufferIndex result = builder.AddBuffer(64);
  builder.AddInstruction(10, {Write(initial)});
  const LoopIndex outer = builder.BeginLoop(3);
  const LoopIndex inner = builder.BeginLoop(4);
  builder.AddInstruction(10, {Update(inside)});
  builder.EndLoop();
  builder.EndLoop();
  builder.AddInstruction(10, {Read(result)});
  builder.AddCarriedGroup(outer, initial, outer_parameter, outer_root, result);
  builder.AddCarriedGroup(inner, outer_parameter, inside, inside, outer_root);
  const Program program = builder.Build();

  std::vector<Interval> intervals = {{.buffer = initial, .first = 0, .last = 1},
                                     {.buffer = outer_parameter, .first = 1, .last = 2},
                                     {.buffer = inside, .first = 2, .last = 4},
                                     {.buffer = outer_root, .first = 4, .last = 5},
                                     {.buffer = result, .first = 5, .last = 6}};
  EXPECT_THAT(Validate(program, MakeMapping(program, intervals, {0, 1, 2})), IsEmpty());
  EXPECT_THAT(Validate(program, AllHbmMapping(program)), IsEmpty());
  intervals[3].offset = 64;
  EXPECT_THAT(Validate(program, MakeMapping(program, intervals, {0, 1, 2})),
              BreaksOnly(Rule::kCarriedGroupOffset));
}

// Two carried values swap in every pass: the parameter of each group is the root of the other, so
// that both must pass at the same time.
TEST(RotatingGroups, MissTheWriteBackTheOtherNeeds) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(64, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(64, {.live_in = true});
  const BufferIndex a_inside = builder.AddBuffer(64);
  const BufferIndex b_inside = builder.AddBuffer(64);
  const BufferIndex a_result = builder.AddBuffer(64, {.live_out = true});
  const BufferIndex b_result = builder.AddBuffer(64, {.live_out = true});
  const LoopIndex loop = builder.BeginLoop(5);
  builder.AddInstruction(10, {Update(a_inside)});
  builder.AddInstruction(10, {Read(b_inside)});
  builder.EndLoop();
  builder.AddInstruction(10, {Read(a_result), Read(b_result)});
  builder.AddCarriedGroup(loop, a, a_inside, b_inside, a_result);
  builder.AddCarriedGroup(loop, b, b_inside, a_inside, b_result);
  const Program program = builder.Build();
  EXPECT_THAT(Validate(program, AllHbmMapping(program)), IsEmpty());

  Interval updated = {
      .buffer = a_inside, .first = 1, .last = 2, .copy_in_start = 1, .copy_in_done = 1};
  EXPECT_THAT(Validate(program, MakeMapping(program, {updated}, {0})),
              BreaksOnly(Rule::kCarriedValueLost));
  updated.copy_out_start = 2;
  updated.copy_out_done = 3;
  EXPECT_THAT(Validate(program, MakeMapping(program, {updated}, {0})), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero::validate
