// 1024 bytes of fast memory; HBM moves 10 bytes a cycle. A copy of 1020 bytes takes 102 cycles.

#include "simulator/overrides/partial_mapping.h"

#include <cstdint>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// Weights are read at instructions 1 and 3; each read saves 40 of 100 cycles.
Program WeightsReadTwice() {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(1020, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(weights, 40)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(weights, 40)});
  return builder.Build();
}

constexpr Interval CopiedIn(InstructionIndex start, InstructionIndex done, InstructionIndex last) {
  return {.buffer = 0, .first = start, .last = last, .copy_in_start = start, .copy_in_done = done};
}

double Cycles(const Program& program, const Mapping& mapping) {
  return Simulate(program, mapping).total_cycles;
}

TEST(WithAccessesAsWanted, ANewCopyComesWithItsAccess) {
  const Program program = WeightsReadTwice();
  const Mapping from = AllHbmMapping(program);
  const Mapping wanted = {.intervals = {CopiedIn(0, 1, 1), CopiedIn(2, 3, 3)},
                          .in_fast_memory = {1, 1}};
  const Mapping partial = WithAccessesAsWanted(program, from, wanted, {0});
  EXPECT_THAT(partial.in_fast_memory, ElementsAre(1, 0));
  EXPECT_THAT(partial.intervals, ElementsAre(CopiedIn(0, 1, 1)));
  EXPECT_EQ(Cycles(program, partial), 400 - 40 + 2);  // 2 of the copy's cycles are waited for
}

TEST(WithAccessesAsWanted, ACopyGoesWithTheLastAccessThatItServes) {
  const Program program = WeightsReadTwice();
  const Mapping from = {.intervals = {CopiedIn(0, 1, 3)}, .in_fast_memory = {1, 1}};
  const Mapping wanted = AllHbmMapping(program);
  ASSERT_EQ(Cycles(program, from), 400 - 40 - 40 + 2);
  const Mapping one = WithAccessesAsWanted(program, from, wanted, {1});
  EXPECT_THAT(one.in_fast_memory, ElementsAre(1, 0));
  EXPECT_EQ(Cycles(program, one), 400 - 40 + 2);  // the copy serves the other read
  const Mapping both = WithAccessesAsWanted(program, from, wanted, {0, 1});
  EXPECT_THAT(both.intervals, IsEmpty());
  EXPECT_EQ(Cycles(program, both), 400);
}

TEST(WithAccessesAsWanted, ALongerIntervalReplacesTheOneItContinues) {
  const Program program = WeightsReadTwice();
  const Mapping from = {.intervals = {CopiedIn(0, 1, 1)}, .in_fast_memory = {1, 0}};
  const Mapping wanted = {.intervals = {CopiedIn(0, 1, 3)}, .in_fast_memory = {1, 1}};
  const Mapping partial = WithAccessesAsWanted(program, from, wanted, {1});
  EXPECT_EQ(partial.intervals, wanted.intervals);  // one copy
  EXPECT_EQ(Cycles(program, partial), 400 - 40 - 40 + 2);
}

TEST(WithAccessesAsWanted, TheRestOfAValueIsWrittenBackIfThatIsWanted) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(1020);
  builder.AddInstruction(100, {Write(value, 30)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(value, 40)});
  const Program program = builder.Build();
  const Mapping from = {.intervals = {{.buffer = value, .first = 0, .last = 2}},
                        .in_fast_memory = {1, 1}};
  const Mapping wanted = {
      .intervals =
          {{.buffer = value, .first = 0, .last = 1, .copy_out_start = 1, .copy_out_done = 2}},
      .in_fast_memory = {1, 0}};
  const Mapping partial = WithAccessesAsWanted(program, from, wanted, {1});
  EXPECT_EQ(partial.intervals, wanted.intervals);
  // The read from HBM waits for 2 of the 102 cycles that the value takes to get there.
  EXPECT_EQ(Cycles(program, partial), 300 - 30 + 2);
}

TEST(WithAccessesAsWanted, OtherBuffersAndOtherValuesStayAsTheyAre) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(500, {.live_in = true});
  const BufferIndex other = builder.AddBuffer(500, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(weights, 40), Read(other, 30)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(weights, 40)});
  const Program program = builder.Build();
  Interval of_other = CopiedIn(0, 1, 1);
  of_other.buffer = other;
  const Mapping from = {.intervals = {CopiedIn(0, 1, 1), of_other, CopiedIn(2, 3, 3)},
                        .in_fast_memory = {1, 1, 1}};
  const Mapping partial = WithAccessesAsWanted(program, from, AllHbmMapping(program), {2});
  EXPECT_THAT(partial.intervals, ElementsAre(CopiedIn(0, 1, 1), of_other));
  EXPECT_THAT(partial.in_fast_memory, ElementsAre(1, 1, 0));
}

}  // namespace
}  // namespace mallocmuzero
