// Tests of each rule that needs no values: a mapping that breaks exactly this rule, and a similar
// valid one.

#include <cstdint>
#include <set>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/validate/test_util.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// Four instructions, four buffers of 64 bytes:
//   0: read input, write middle     accesses 0, 1
//   1: nothing
//   2: read weights, read middle, write result    accesses 2, 3, 4
//   3: nothing
class GeometryTest : public ::testing::Test {
 protected:
  GeometryTest() : program_(MakeBuilder().Build()), mapping_(ValidMapping(program_)) {}

  static ProgramBuilder MakeBuilder(bool pin_middle = false) {
    ProgramBuilder builder;
    builder.AddBuffer(64, {.live_in = true});
    builder.AddBuffer(64, {.live_in = true});
    builder.AddBuffer(64, {.pinned_to_hbm = pin_middle});
    builder.AddBuffer(64, {.live_out = true});
    builder.AddInstruction(10, {Read(kInput), Write(kMiddle)});
    builder.AddInstruction(10);
    builder.AddInstruction(10, {Read(kWeights), Read(kMiddle), Write(kResult)});
    builder.AddInstruction(10);
    return builder;
  }

  // weights and middle are side by side; the result is above them and is written back.
  static Mapping ValidMapping(const Program& program) {
    return MakeMapping(program,
                       {{.buffer = kWeights,
                         .first = 0,
                         .last = 2,
                         .offset = 0,
                         .copy_in_start = 0,
                         .copy_in_done = 2},
                        {.buffer = kMiddle, .first = 0, .last = 2, .offset = 64},
                        {.buffer = kResult,
                         .first = 2,
                         .last = 3,
                         .offset = 256,
                         .copy_out_start = 3,
                         .copy_out_done = 4}},
                       {1, 2, 3, 4});
  }

  Interval& Weights() { return mapping_.intervals[0]; }
  Interval& Middle() { return mapping_.intervals[1]; }
  Interval& Result() { return mapping_.intervals[2]; }
  std::vector<Violation> Violations() const { return Validate(program_, mapping_); }

  static constexpr uint32_t kInput = 0;
  static constexpr uint32_t kWeights = 1;
  static constexpr uint32_t kMiddle = 2;
  static constexpr uint32_t kResult = 3;

  Program program_;
  Mapping mapping_;
};

TEST(Rules, HaveDistinctNames) {
  std::set<std::string> names;
  for (int r = 0; r < kRuleCount; ++r) names.emplace(RuleName(static_cast<Rule>(r)));
  EXPECT_EQ(names.size(), kRuleCount);
  EXPECT_EQ(names.count("unknown"), 0);
}

TEST_F(GeometryTest, AcceptsTheMappingTheOthersAreMadeFrom) {
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(GeometryTest, AcceptsEverythingInHbm) {
  EXPECT_THAT(Validate(program_, AllHbmMapping(program_)), IsEmpty());
}

TEST_F(GeometryTest, ReportsAccessesThatAreTooMany) {
  mapping_.in_fast_memory.push_back(0);
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kAccessCount));
}

TEST_F(GeometryTest, ReportsUnknownBuffer) {
  Result().buffer = 4;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kUnknownBuffer));
}

TEST_F(GeometryTest, ReportsIntervalThatEndsAfterTheProgram) {
  Result().last = 4;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kIntervalBounds));
}

TEST_F(GeometryTest, ReportsIntervalThatEndsBeforeItStarts) {
  Result().last = 1;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kIntervalBounds));
}

TEST_F(GeometryTest, ReportsCopyInOutsideTheInterval) {
  Weights().copy_in_done = 3;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCopyPositions));
}

TEST_F(GeometryTest, ReportsCopyInThatEndsBeforeItStarts) {
  Weights().copy_in_start = 2;
  EXPECT_THAT(Violations(), IsEmpty());
  Weights().copy_in_done = 1;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCopyPositions));
}

TEST_F(GeometryTest, ReportsCopyInBeforeTheInterval) {
  Weights().first = 1;
  SortIntervals(mapping_);
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCopyPositions));
}

TEST_F(GeometryTest, ReportsCopyWithoutEnd) {
  Weights().copy_in_done = -1;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCopyPositions));
}

TEST_F(GeometryTest, ReportsWriteBackThatOutlivesItsBytes) {
  Result().last = 2;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCopyPositions));
  Result().copy_out_done = 3;
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(GeometryTest, ReportsWriteBackBeforeTheCopyInIsDone) {
  Weights().copy_out_start = 1;
  Weights().copy_out_done = 2;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCopyPositions));
}

TEST_F(GeometryTest, ReportsIntervalsOutOfOrder) {
  std::swap(mapping_.intervals[0], mapping_.intervals[1]);
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kIntervalOrder));
}

TEST_F(GeometryTest, ReportsOffsetOffTheGrid) {
  Middle().offset = 72;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kAlignment));
  Middle().offset = 80;
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(GeometryTest, ReportsBytesAboveTheMemory) {
  Middle().offset = 1024 - 64;
  EXPECT_THAT(Violations(), IsEmpty());
  Middle().offset += 16;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCapacity));
}

TEST_F(GeometryTest, ReportsBytesBelowTheMemory) {
  Middle().offset = -16;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCapacity));
  Middle().offset = INT64_MIN;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCapacity));
  Middle().offset = INT64_MAX - 15;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kCapacity));
}

TEST_F(GeometryTest, SaysWhatDoesNotFit) {
  Middle().offset = 976;
  const std::vector<Violation> violations = Violations();
  ASSERT_THAT(violations, BreaksOnly(Rule::kCapacity));
  EXPECT_THAT(violations[0].message, HasSubstr("buffer 2 ('value.2', 64 bytes) over [0, 2]"));
  EXPECT_THAT(violations[0].message, HasSubstr("64 bytes at offset 976 do not fit in 1024 bytes"));
}

TEST_F(GeometryTest, ReportsSharedBytes) {
  Middle().offset = 48;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kOverlap));
}

TEST_F(GeometryTest, ReportsBytesReusedByTheInstructionThatStillReadsThem) {
  Result().offset = 64;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kOverlap));
}

TEST_F(GeometryTest, ReportsIntervalAfterTheLiveRange) {
  Middle().last = 3;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kLiveRange));
  // During a write-back the bytes are still occupied.
  Middle().copy_out_start = 3;
  Middle().copy_out_done = 4;
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(GeometryTest, ReportsIntervalAfterTheWriteBackThatNeedsIt) {
  Middle().last = 3;
  Middle().copy_out_start = 2;
  Middle().copy_out_done = 2;  // one instruction before the interval's end
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kLiveRange));
}

TEST_F(GeometryTest, ReportsIntervalBeforeTheLiveRange) {
  Result().first = 1;
  EXPECT_THAT(Violations(), BreaksOnly(Rule::kLiveRange));
}

TEST_F(GeometryTest, ReportsPinnedBuffer) {
  EXPECT_THAT(Validate(MakeBuilder(true).Build(), mapping_), BreaksOnly(Rule::kPinnedToHbm));
}

// Two buffers that use the same bytes one after the other:
//   0: write first   1: nothing   2: depends on the test   3: read second
class ReuseTest : public ::testing::Test {
 protected:
  static std::vector<Violation> Violations(bool second_is_copied_in,
                                           InstructionIndex write_back_start,
                                           InstructionIndex write_back_done) {
    ProgramBuilder builder;
    const BufferIndex first = builder.AddBuffer(64, {.live_out = true});
    const BufferIndex second = builder.AddBuffer(64, {.live_in = second_is_copied_in});
    builder.AddInstruction(10, {Write(first)});
    builder.AddInstruction(10);
    builder.AddInstruction(
        10, second_is_copied_in ? std::vector<testing::AccessSpec>{} : std::vector{Write(second)});
    builder.AddInstruction(10, {Read(second)});
    const Program program = builder.Build();
    Interval next{.buffer = second, .first = 2, .last = 3};
    if (second_is_copied_in) next.copy_in_start = 2, next.copy_in_done = 3;
    const Interval previous{.buffer = first,
                            .first = 0,
                            .last = 1,
                            .copy_out_start = write_back_start,
                            .copy_out_done = write_back_done};
    return Validate(program, MakeMapping(program, {previous, next},
                                         second_is_copied_in ? std::vector<AccessIndex>{0, 1}
                                                             : std::vector<AccessIndex>{0, 1, 2}));
  }
};

TEST_F(ReuseTest, LetsAnInstructionWriteWhereAWriteBackHasJustEnded) {
  EXPECT_THAT(Violations(/*second_is_copied_in=*/false, 1, 2), IsEmpty());
}

TEST_F(ReuseTest, LetsACopyInStartWhereAWriteBackHasJustEnded) {
  EXPECT_THAT(Violations(/*second_is_copied_in=*/true, 1, 2), IsEmpty());
}

TEST_F(ReuseTest, ReportsCopyInQueuedTogetherWithTheWriteBack) {
  EXPECT_THAT(Violations(/*second_is_copied_in=*/true, 2, 2), BreaksOnly(Rule::kOverlap));
}

class CrossProgramPrefetchTest : public ::testing::Test {
 protected:
  // Two instructions; the baseline prefetches `marked`.
  //   0: nothing   1: read marked, read other
  CrossProgramPrefetchTest() : program_(MakeProgram()) {}

  static Program MakeProgram() {
    ProgramBuilder builder;
    builder.AddBuffer(64, {.live_in = true});
    builder.AddBuffer(64, {.live_in = true});
    builder.AddInstruction(10);
    builder.AddInstruction(10, {Read(kMarked), Read(kOther)});
    v1::Program proto = builder.BuildProto();
    v1::Mapping& baseline = *proto.mutable_baseline()->mutable_mapping();
    v1::Interval& it = *baseline.add_intervals();
    it.set_buffer(kMarked);
    it.set_last(1);
    it.set_cross_program_prefetch(true);
    baseline.add_in_fast_memory(true);
    baseline.add_in_fast_memory(false);
    SealProgram(proto);
    return *Program::FromProto(std::move(proto));
  }

  std::vector<Violation> Violations(std::vector<Interval> intervals) const {
    std::vector<AccessIndex> fast;  // buffer k has access k alone
    for (const Interval& it : intervals) fast.push_back(AccessIndex(it.buffer.number()));
    return Validate(program_, MakeMapping(program_, std::move(intervals), fast));
  }

  static constexpr uint32_t kMarked = 0;
  static constexpr uint32_t kOther = 1;
  Program program_;
};

TEST_F(CrossProgramPrefetchTest, IsThereFromTheStart) {
  EXPECT_THAT(Violations({{.buffer = kMarked, .last = 1, .cross_program_prefetch = true}}),
              IsEmpty());
}

TEST_F(CrossProgramPrefetchTest, ReportsBufferTheBaselineDoesNotMark) {
  EXPECT_THAT(Violations({{.buffer = kOther, .last = 1, .cross_program_prefetch = true}}),
              BreaksOnly(Rule::kCrossProgramPrefetch));
}

TEST_F(CrossProgramPrefetchTest, ReportsStartAfterTheProgramHasBegun) {
  EXPECT_THAT(
      Violations({{.buffer = kMarked, .first = 1, .last = 1, .cross_program_prefetch = true}}),
      BreaksOnly(Rule::kCrossProgramPrefetch));
}

TEST_F(CrossProgramPrefetchTest, ReportsOneThatIsCopiedAllTheSame) {
  EXPECT_THAT(Violations({{.buffer = kMarked,
                           .last = 1,
                           .copy_in_start = 0,
                           .copy_in_done = 1,
                           .cross_program_prefetch = true}}),
              BreaksOnly(Rule::kCrossProgramPrefetch));
}

TEST_F(CrossProgramPrefetchTest, ReportsASecondOne) {
  EXPECT_THAT(
      Violations({{.buffer = kMarked, .last = 0, .cross_program_prefetch = true},
                  {.buffer = kMarked, .last = 1, .offset = 64, .cross_program_prefetch = true}}),
      BreaksOnly(Rule::kCrossProgramPrefetch));
}

TEST(Report, StopsAtItsLimit) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(64, {.live_in = true});
  for (size_t i = 0; i < kMaxViolations + 10; ++i) builder.AddInstruction(10, {Read(buffer)});
  const Program program = builder.Build();
  Mapping mapping = AllHbmMapping(program);
  mapping.in_fast_memory.assign(program.access_count(), 1);
  EXPECT_EQ(Validate(program, mapping).size(), kMaxViolations);
}

}  // namespace
}  // namespace mallocmuzero::validate
