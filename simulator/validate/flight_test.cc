// Mappings that move a buffer while an asynchronous collective works on it.

#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/validate/test_util.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {
namespace {

using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Update;
using testing::Write;

// A gather from 2 to 4, as v5e's compiler writes it:
//   0: write shard                  access 0
//   1: nothing
//   2: read shard, write whole      accesses 1, 2: the start
//   3: read shard, update whole     accesses 3, 4
//   4: read shard, update whole     accesses 5, 6: the done
//   5, 6: nothing
//   7: read whole                   access 7
class FlightTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kShard = 0;
  static constexpr uint32_t kWhole = 1;

  static Program Make() {
    ProgramBuilder builder;
    builder.AddBuffer(64);
    builder.AddBuffer(128);
    builder.AddInstruction(10, {Write(kShard)});
    builder.AddInstruction(10);
    builder.AddInstruction(10, {Read(kShard), Write(kWhole)});
    builder.AddInstruction(10, {Read(kShard), Update(kWhole)});
    builder.AddInstruction(10, {Read(kShard), Update(kWhole)});
    builder.AddInstruction(10);
    builder.AddInstruction(10);
    builder.AddInstruction(10, {Read(kWhole)});
    return builder.AddCollective(2, 4, 5, {kShard, kWhole}).Build();
  }

  std::vector<Violation> Judge(std::vector<Interval> intervals,
                               const std::vector<AccessIndex>& fast) const {
    return Validate(program_, MakeMapping(program_, std::move(intervals), fast));
  }

  // The whole array in fast memory from the start on.
  static Interval Whole() { return {.buffer = kWhole, .first = 2, .last = 7, .offset = 64}; }

  const Program program_ = Make();
};

TEST_F(FlightTest, TheResultMayBeInFastMemoryFromTheStartOn) {
  EXPECT_THAT(Judge({Whole()}, {2, 4, 6, 7}), IsEmpty());
}

TEST_F(FlightTest, TheOperandMayBeInFastMemoryUpToTheDone) {
  EXPECT_THAT(Judge({{.buffer = kShard, .first = 0, .last = 4}}, {0, 1, 3, 5}), IsEmpty());
}

TEST_F(FlightTest, TheResultMayBeCopiedAfterTheDone) {
  EXPECT_THAT(
      Judge({{.buffer = kWhole, .first = 5, .last = 7, .copy_in_start = 5, .copy_in_done = 7}},
            {7}),
      IsEmpty());
}

TEST_F(FlightTest, ReportsACopyInThatStartsBeforeTheDone) {
  // The validator's points: a copy queued just before the done would copy half a result.
  EXPECT_THAT(
      Judge({{.buffer = kWhole, .first = 4, .last = 7, .copy_in_start = 4, .copy_in_done = 7}},
            {7}),
      Breaks(Rule::kMoveInFlight));
}

TEST_F(FlightTest, TheResultMayBeWrittenBackAfterTheDone) {
  Interval whole = Whole();
  whole.copy_out_start = 5;
  whole.copy_out_done = 7;
  EXPECT_THAT(Judge({whole}, {2, 4, 6, 7}), IsEmpty());
}

TEST_F(FlightTest, ReportsAWriteBackThatStartsInFlight) {
  Interval whole = Whole();
  whole.last = 4;
  whole.copy_out_start = 4;
  whole.copy_out_done = 5;
  EXPECT_THAT(Judge({whole}, {2, 4, 6}), Breaks(Rule::kMoveInFlight));
}

TEST_F(FlightTest, TheOperandMayBeWrittenBackBeforeTheStart) {
  EXPECT_THAT(
      Judge({{.buffer = kShard, .first = 0, .last = 4, .copy_out_start = 1, .copy_out_done = 2}},
            {0, 1, 3, 5}),
      IsEmpty());
}

TEST_F(FlightTest, ReportsAWriteBackOfTheOperandThatRunsIntoTheFlight) {
  EXPECT_THAT(
      Judge({{.buffer = kShard, .first = 0, .last = 4, .copy_out_start = 1, .copy_out_done = 3}},
            {0, 1, 3, 5}),
      BreaksOnly(Rule::kMoveInFlight));
}

TEST_F(FlightTest, ReportsAStayThatEndsInFlight) {
  EXPECT_THAT(
      Judge({{.buffer = kShard, .first = 0, .last = 3, .copy_out_start = 1, .copy_out_done = 2}},
            {0, 1, 3}),
      BreaksOnly(Rule::kMoveInFlight));
}

// The collective works in HBM, but the stay is there when it starts.
TEST_F(FlightTest, ReportsAStayThatNoAccessOfTheFlightUses) {
  for (const uint32_t last : {2, 3}) {
    EXPECT_THAT(Judge({{.buffer = kShard,
                        .first = 0,
                        .last = InstructionIndex(last),
                        .copy_out_start = 1,
                        .copy_out_done = 2}},
                      {0}),
                BreaksOnly(Rule::kMoveInFlight));
  }
  EXPECT_THAT(
      Judge({{.buffer = kShard, .first = 0, .last = 1, .copy_out_start = 1, .copy_out_done = 2}},
            {0}),
      IsEmpty());
}

TEST_F(FlightTest, ReportsAccessesOfOneFlightInTwoMemories) {
  // The operand is in both memories, so that every read finds its value.
  EXPECT_THAT(
      Judge({{.buffer = kShard, .first = 0, .last = 4, .copy_out_start = 1, .copy_out_done = 2}},
            {0, 1, 5}),
      BreaksOnly(Rule::kMoveInFlight));
}

}  // namespace
}  // namespace mallocmuzero::validate
