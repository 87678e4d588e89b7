#include "simulator/overrides/late_copies.h"

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/overrides/test_util.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MustSeal;
using testing::ProgramBuilder;
using testing::Read;
using testing::Wanted;

// HBM moves 10 bytes a cycle: 40 cycles for `input`, 10 for `small`, which instruction 2 both
// reads. Instructions 0 and 1 take 10 and 20 cycles and leave all of the bandwidth.
Program TwoInputs() {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(400, {.live_in = true});
  const BufferIndex small = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(20);
  builder.AddInstruction(60, {Read(input, 20), Read(small, 10)});
  return MustSeal(builder.BuildProto());
}

Interval CopiedAt(BufferIndex buffer, InstructionIndex start) {
  return {.buffer = buffer, .first = start, .last = 2, .copy_in_start = start, .copy_in_done = 2};
}

TEST(LateCopies, AreThoseThatTheProgramWaitsFor) {
  const Program program = TwoInputs();
  v1::ReadBackReport report;
  AddLateCopies(program, Wanted("11", {CopiedAt(0, 1), CopiedAt(1, 0)}), report);
  ASSERT_EQ(report.late_copies_size(), 1);
  const v1::ReadBackReport::LateCopy& late = report.late_copies(0);
  EXPECT_EQ(late.access(), 0u);
  EXPECT_EQ(late.bytes(), 400);
  EXPECT_DOUBLE_EQ(late.wait_cycles(), 40 - 20);
  const std::string filter =
      R"(overrides { hlo_operand_filter { instruction_name_regex: "^fusion\\.2$" )"
      R"(operand_number: 0 tuple_index {} size_gte: 399 size_lte: 401 } )"
      R"(prefetch { prefetch_eagerness: )";
  EXPECT_THAT(late.tensor_overrides(),
              ElementsAre(filter + "0 } }", filter + "0.5 } }", filter + "0.75 } }"));
}

TEST(LateCopies, ComeInTheOrderOfTheirWaits) {
  const Program program = TwoInputs();
  v1::ReadBackReport report;
  AddLateCopies(program, Wanted("11", {CopiedAt(1, 2), CopiedAt(0, 2)}), report);
  ASSERT_EQ(report.late_copies_size(), 2);
  EXPECT_EQ(report.late_copies(0).access(), 0u);
  EXPECT_DOUBLE_EQ(report.late_copies(0).wait_cycles(), 40);
  EXPECT_DOUBLE_EQ(report.late_copies(1).wait_cycles(), 10);
}

TEST(LateCopies, AreWaitedForInEachPassOfTheirLoop) {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(400, {.live_in = true});  // 40 cycles
  builder.BeginLoop(7);
  builder.AddInstruction(10);  // leaves all of the bandwidth
  builder.AddInstruction(60, {Read(input, 20)});
  builder.EndLoop();
  const Program program = MustSeal(builder.BuildProto());
  v1::ReadBackReport report;
  AddLateCopies(program, Wanted("1", {CopiedAt(0, 1)}), report);
  ASSERT_EQ(report.late_copies_size(), 1);
  EXPECT_DOUBLE_EQ(report.late_copies(0).wait_cycles(), 7 * (40 - 10));
}

TEST(LateCopies, AreNoneThatServeNoAccess) {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(400, {.live_in = true});
  for (int i = 0; i < 3; ++i) builder.AddInstruction(100);
  builder.AddInstruction(60, {Read(input, 20)});
  const Program program = MustSeal(builder.BuildProto());
  // The first interval ends before the access, which the second one serves.
  const Interval unused = CopiedAt(0, 2);
  const Interval used{.buffer = 0, .first = 2, .last = 3, .copy_in_start = 2, .copy_in_done = 3};
  v1::ReadBackReport report;
  AddLateCopies(program, Wanted("1", {unused, used}), report);
  EXPECT_THAT(report.late_copies(), IsEmpty());
}

TEST(LateCopies, AreNoneWhereNothingIsWaitedFor) {
  const Program program = TwoInputs();
  v1::ReadBackReport report;
  AddLateCopies(program, Wanted("01", {CopiedAt(1, 0)}), report);
  EXPECT_THAT(report.late_copies(), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
