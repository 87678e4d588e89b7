// Tests of each rule about values, in programs without loops: a mapping that breaks exactly this
// rule, and a similar valid one.

#include <cstdint>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/validate/test_util.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {
namespace {

using testing::AccessSpec;
using testing::BufferSpec;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Update;
using testing::Write;

// A program with one buffer of 64 bytes. Instruction i makes the i-th access: 'r' reads, 'w'
// writes, 'u' updates, '.' does nothing.
Program OneBuffer(const std::string& accesses, BufferSpec spec = {}) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(64, spec);
  for (const char c : accesses) {
    std::vector<AccessSpec> made;
    if (c == 'r') made.push_back(Read(buffer));
    if (c == 'w') made.push_back(Write(buffer));
    if (c == 'u') made.push_back(Update(buffer));
    builder.AddInstruction(10, made);
  }
  return builder.Build();
}

std::vector<Violation> Judge(const Program& program, std::vector<Interval> intervals,
                             const std::vector<AccessIndex>& fast_accesses) {
  return Validate(program, MakeMapping(program, std::move(intervals), fast_accesses));
}

constexpr BufferSpec kLiveIn = {.live_in = true};
constexpr BufferSpec kLiveOut = {.live_out = true};

TEST(FastMemoryRead, NeedsAnInterval) {
  const Program program = OneBuffer("w.r");
  EXPECT_THAT(Judge(program, {{.first = 0, .last = 2}}, {0, 1}), IsEmpty());
  const std::vector<Violation> violations = Judge(program, {{.first = 0, .last = 1}}, {0, 1});
  ASSERT_THAT(violations, BreaksOnly(Rule::kNoInterval));
  EXPECT_THAT(violations[0].message,
              HasSubstr("read of buffer 0 ('value.0', 64 bytes) by instruction 2"));
  EXPECT_THAT(violations[0].message, HasSubstr("(access 1)"));
}

TEST(FastMemoryRead, NeedsAValueInItsInterval) {
  const Program program = OneBuffer(".r", kLiveIn);
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_in_start = 0, .copy_in_done = 1}}, {0}), IsEmpty());
  EXPECT_THAT(Judge(program, {{.last = 1}}, {0}), BreaksOnly(Rule::kFastMemoryStale));
}

TEST(FastMemoryRead, NeedsTheVersionWrittenToHbmMeanwhile) {
  const Program program = OneBuffer("r.w.r", kLiveIn);
  const Interval kept = {.last = 4, .copy_in_start = 0, .copy_in_done = 0};
  EXPECT_THAT(Judge(program, {kept}, {0, 2}), BreaksOnly(Rule::kFastMemoryStale));
  Interval fetched_again = {.first = 3, .last = 4, .copy_in_start = 3, .copy_in_done = 4};
  EXPECT_THAT(Judge(program, {fetched_again}, {2}), IsEmpty());
}

TEST(FastMemoryRead, WaitsForItsCopy) {
  const Program program = OneBuffer(".r.r", kLiveIn);
  EXPECT_THAT(Judge(program, {{.last = 3, .copy_in_start = 0, .copy_in_done = 1}}, {0, 1}),
              IsEmpty());
  EXPECT_THAT(Judge(program, {{.last = 3, .copy_in_start = 0, .copy_in_done = 2}}, {0, 1}),
              BreaksOnly(Rule::kCopyInPending));
}

TEST(FastMemoryRead, MayUseEitherOfTwoIntervals) {
  const Program program = OneBuffer("r.r", kLiveIn);
  EXPECT_THAT(Judge(program,
                    {{.last = 1, .offset = 0, .copy_in_start = 0, .copy_in_done = 0},
                     {.first = 1, .last = 2, .offset = 64, .copy_in_start = 1, .copy_in_done = 2}},
                    {0, 1}),
              IsEmpty());
}

TEST(FastMemoryWrite, NeedsAnInterval) {
  EXPECT_THAT(Judge(OneBuffer("w"), {{.last = 0}}, {0}), IsEmpty());
  EXPECT_THAT(Judge(OneBuffer("w"), {}, {0}), BreaksOnly(Rule::kNoInterval));
}

TEST(FastMemoryWrite, NeedsOneIntervalOnly) {
  const Program program = OneBuffer("r.w", kLiveIn);
  const Interval old = {.last = 2, .copy_in_start = 0, .copy_in_done = 0};
  EXPECT_THAT(Judge(program, {old, {.first = 2, .last = 2, .offset = 64}}, {0, 1}),
              BreaksOnly(Rule::kAmbiguousInterval));
  EXPECT_THAT(Judge(program, {old}, {0, 1}), IsEmpty());
}

TEST(FastMemoryWrite, LeavesHbmStale) {
  const Program program = OneBuffer("w.r");
  EXPECT_THAT(Judge(program, {{.last = 0}}, {0}), BreaksOnly(Rule::kHbmStale));
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_out_start = 1, .copy_out_done = 2}}, {0}),
              IsEmpty());
}

TEST(HbmRead, WaitsForTheWriteBack) {
  const Program program = OneBuffer("w.r.");
  const std::vector<Violation> violations =
      Judge(program, {{.last = 2, .copy_out_start = 1, .copy_out_done = 3}}, {0});
  ASSERT_THAT(violations, BreaksOnly(Rule::kHbmStale));
  EXPECT_THAT(violations[0].message, HasSubstr("write-back has not been waited for"));
}

TEST(Update, NeedsTheCurrentValueWhereItWrites) {
  const Program program = OneBuffer("w.u");
  EXPECT_THAT(Judge(program, {{.last = 2}}, {0, 1}), IsEmpty());
  EXPECT_THAT(Judge(program, {{.last = 2}}, {0}), BreaksOnly(Rule::kHbmStale));
  EXPECT_THAT(Judge(program, {{.first = 2, .last = 2}}, {1}), BreaksOnly(Rule::kFastMemoryStale));
}

TEST(Update, LeavesTheOtherSpaceStale) {
  const Program program = OneBuffer("r.u.r", kLiveIn);
  const Interval kept = {.last = 4, .copy_in_start = 0, .copy_in_done = 0};
  EXPECT_THAT(Judge(program, {kept}, {0, 1, 2}), IsEmpty());
  EXPECT_THAT(Judge(program, {kept}, {0, 1}), BreaksOnly(Rule::kHbmStale));
  EXPECT_THAT(Judge(program, {kept}, {0, 2}), BreaksOnly(Rule::kFastMemoryStale));
}

TEST(Update, WaitsForTheWriteBackOfTheOldValue) {
  const Program program = OneBuffer("w.u.");
  EXPECT_THAT(Judge(program, {{.last = 2, .copy_out_start = 1, .copy_out_done = 2}}, {0, 1}),
              IsEmpty());
  EXPECT_THAT(Judge(program, {{.last = 3, .copy_out_start = 1, .copy_out_done = 3}}, {0, 1}),
              BreaksOnly(Rule::kWriteDuringCopy));
}

TEST(HbmWrite, WaitsForTheWriteBackItWouldLoseTo) {
  const Program program = OneBuffer("w.w.r");
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_out_start = 1, .copy_out_done = 2}}, {0}),
              IsEmpty());
  EXPECT_THAT(Judge(program, {{.last = 2, .copy_out_start = 1, .copy_out_done = 3}}, {0}),
              BreaksOnly(Rule::kWriteDuringCopy));
}

TEST(HbmWrite, DoesNotTouchTheSourceOfACopyIn) {
  const Program program = OneBuffer(".w.r", kLiveIn);
  EXPECT_THAT(Judge(program, {{.last = 2, .copy_in_start = 0, .copy_in_done = 2}}, {}),
              BreaksOnly(Rule::kWriteDuringCopy));
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_in_start = 0, .copy_in_done = 1}}, {}), IsEmpty());
}

TEST(FastMemoryWrite, WaitsForTheCopyInThatWouldReplaceIt) {
  const Program program = OneBuffer(".w.r", kLiveIn);
  EXPECT_THAT(Judge(program, {{.last = 3, .copy_in_start = 0, .copy_in_done = 2}}, {0, 1}),
              BreaksOnly(Rule::kWriteDuringCopy));
  EXPECT_THAT(Judge(program, {{.last = 3, .copy_in_start = 0, .copy_in_done = 1}}, {0, 1}),
              IsEmpty());
}

TEST(CopyIn, NeedsTheWriteBackOfItsSourceToHaveFinished) {
  const Program program = OneBuffer("w...r");
  const Interval written = {.last = 1, .copy_out_start = 1, .copy_out_done = 2};
  const Interval after = {
      .first = 2, .last = 4, .offset = 64, .copy_in_start = 2, .copy_in_done = 4};
  EXPECT_THAT(Judge(program, {written, after}, {0, 1}), IsEmpty());
  const Interval before = {
      .first = 1, .last = 4, .offset = 64, .copy_in_start = 1, .copy_in_done = 4};
  const std::vector<Violation> violations = Judge(program, {written, before}, {0, 1});
  ASSERT_THAT(violations, BreaksOnly(Rule::kCopySourceStale));
  EXPECT_THAT(violations[0].message, HasSubstr("write-back to HBM has not finished"));
}

TEST(CopyIn, NeedsASourceThatWasWritten) {
  const Program program = OneBuffer("w.r");
  EXPECT_THAT(Judge(program, {{.last = 2, .copy_in_start = 0, .copy_in_done = 0}}, {0, 1}),
              BreaksOnly(Rule::kCopySourceStale));
}

TEST(CopyIn, TakesWhatNoAccessHasWritten) {
  // The buffer is not live in and its first access is a read: something that is not an access left
  // the value in HBM.
  EXPECT_THAT(Judge(OneBuffer("r"), {{.last = 0, .copy_in_start = 0, .copy_in_done = 0}}, {0}),
              IsEmpty());
}

TEST(CopyOut, StartsAfterTheWrite) {
  const Program program = OneBuffer("w.", kLiveOut);
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_out_start = 1, .copy_out_done = 2}}, {0}),
              IsEmpty());
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_out_start = 0, .copy_out_done = 0}}, {}),
              BreaksOnly(Rule::kCopySourceStale));
}

TEST(LiveOut, EndsInHbm) {
  const Program program = OneBuffer("w.", kLiveOut);
  EXPECT_THAT(Judge(program, {{.last = 1, .copy_out_start = 1, .copy_out_done = 2}}, {0}),
              IsEmpty());
  const std::vector<Violation> violations = Judge(program, {{.last = 1}}, {0});
  ASSERT_THAT(violations, BreaksOnly(Rule::kLiveOutNotInHbm));
  EXPECT_THAT(violations[0].message, HasSubstr("buffer 0 ('value.0', 64 bytes)"));
}

TEST(LiveOut, OfAnInputUpdatedInPlaceIsTheNewValue) {
  const Program program = OneBuffer("u.", {.live_in = true, .live_out = true});
  Interval it = {.last = 1, .copy_in_start = 0, .copy_in_done = 0};
  EXPECT_THAT(Judge(program, {it}, {0}), BreaksOnly(Rule::kLiveOutNotInHbm));
  it.copy_out_start = 1;
  it.copy_out_done = 2;
  EXPECT_THAT(Judge(program, {it}, {0}), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero::validate
