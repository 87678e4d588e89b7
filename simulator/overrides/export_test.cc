#include "simulator/overrides/export.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/overrides/test_util.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Wanted;
using testing::WithDefault;
using testing::Write;
using Item = v1::OverridesReport::Item;

// fusion.0 reads the input, of 400 bytes, and writes x, of 100; fusion.1 and fusion.2 read x and
// the input. Accesses: 0 input, 1 x | 2 x, 3 input | 4 x, 5 input.
//   fusion.0: 100 cycles; input saves 20, x saves 10
//   fusion.1:  50 cycles; x saves 5, input saves 7
//   fusion.2:  50 cycles; x costs 4 in fast memory, input saves 7
v1::Program ThreeFusions() {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(400, {.live_in = true});
  const BufferIndex x = builder.AddBuffer(100);
  builder.AddInstruction(100, {Read(input, 20), Write(x, 10)});
  builder.AddInstruction(50, {Read(x, 5), Read(input, 7)});
  builder.AddInstruction(50, {Read(x, -4), Read(input, 7)});
  return builder.BuildProto();
}

v1::OverridesReport Export(const Program& program, const Mapping& wanted,
                           OverrideScope scope = OverrideScope::kValues) {
  const absl::StatusOr<v1::OverridesReport> report = ExportOverrides(program, wanted, scope);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : v1::OverridesReport();
}

std::vector<std::string> KindsOf(const v1::OverridesReport& report) {
  std::vector<std::string> kinds;
  for (const Item& item : report.items()) kinds.push_back(item.kind());
  return kinds;
}

TEST(ExportOverrides, TheDefaultNeedsNoOptions) {
  for (const char* fast : {"000000", "011010", "111111"}) {
    for (const OverrideScope scope : {OverrideScope::kValues, OverrideScope::kUses}) {
      const v1::OverridesReport report =
          Export(WithDefault(ThreeFusions(), fast), Wanted(fast), scope);
      EXPECT_THAT(report.items(), IsEmpty());
      EXPECT_THAT(report.options(), IsEmpty());
      EXPECT_EQ(OptionLines(report), "");
      EXPECT_EQ(report.left_out_accesses(), 0);
    }
  }
}

TEST(ExportOverrides, AProgramWithoutADefaultIsRefused) {
  const Program program = testing::MustSeal(ThreeFusions());
  const auto report = ExportOverrides(program, Wanted("000000"), OverrideScope::kValues);
  EXPECT_EQ(report.status().code(), absl::StatusCode::kNotFound);
}

TEST(ExportOverrides, AStopLeavesOutPricesAndNoOverride) {
  const Program program = WithDefault(ThreeFusions(), "111111");
  const v1::OverridesReport whole = Export(program, Wanted("000000"));
  const auto stopped =
      ExportOverrides(program, Wanted("000000"), OverrideScope::kValues, [] { return true; });
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  ASSERT_FALSE(whole.items().empty());
  ASSERT_EQ(stopped->items_size(), whole.items_size());
  std::vector<std::string> overrides[2];
  for (int i = 0; i < whole.items_size(); ++i) {
    EXPECT_NE(whole.items(i).gain_cycles(), 0);
    EXPECT_EQ(stopped->items(i).gain_cycles(), 0);
    for (const std::string& text : whole.items(i).tensor_overrides()) overrides[0].push_back(text);
    for (const std::string& text : stopped->items(i).tensor_overrides()) {
      overrides[1].push_back(text);
    }
  }
  EXPECT_THAT(overrides[1], ::testing::UnorderedElementsAreArray(overrides[0]));
}

TEST(ExportOverrides, AValueWantedNowhereIsKeptWhereItIsWrittenAndUsed) {
  const v1::OverridesReport report =
      Export(WithDefault(ThreeFusions(), "011010"), Wanted("000000"));
  ASSERT_EQ(report.items_size(), 1);
  const Item& item = report.items(0);
  EXPECT_EQ(item.kind(), "keep_value");
  EXPECT_EQ(item.instruction(), "fusion.0");
  EXPECT_EQ(item.buffer(), 1);
  EXPECT_EQ(item.bytes(), 100);
  EXPECT_THAT(item.accesses(), ElementsAre(1, 2, 4));
  EXPECT_EQ(item.bytes_moved(), 300);
  EXPECT_EQ(item.gain_cycles(), -11);  // 10 + 5 - 4 saved until now
  const std::string keep_0 =
      R"(overrides { hlo_position_matcher { instruction_name_regex: "^fusion\\.0$" )"
      R"(tuple_index {} size_gte: 99 size_lte: 101 } keep_in_default_memory {} })";
  const std::string keep_1 =
      R"(overrides { hlo_operand_filter { instruction_name_regex: "^fusion\\.1$" )"
      R"(operand_number: 0 tuple_index {} size_gte: 99 size_lte: 101 } keep_in_default_memory {} })";
  const std::string keep_2 =
      R"(overrides { hlo_operand_filter { instruction_name_regex: "^fusion\\.2$" )"
      R"(operand_number: 0 tuple_index {} size_gte: 99 size_lte: 101 } keep_in_default_memory {} })";
  EXPECT_THAT(item.tensor_overrides(), ElementsAre(keep_0, keep_1, keep_2));
  EXPECT_THAT(item.sort_overrides(), IsEmpty());
  EXPECT_EQ(item.strict(), "");
  EXPECT_EQ(OptionLines(report),
            absl::StrCat("xla_tpu_msa_tensor_overrides=", keep_0, " ", keep_1, " ", keep_2, "\n"));
}

// The same with a collective from fusion.0 to fusion.1 that works on x.
TEST(ExportOverrides, ArraysOfCollectivesAreLeftOut) {
  v1::Program program = ThreeFusions();
  v1::Collective& collective = *program.add_collectives();
  collective.set_done(1);
  collective.add_buffers(1);
  const v1::OverridesReport report =
      Export(WithDefault(std::move(program), "011010"), Wanted("000000"));
  EXPECT_THAT(report.items(), IsEmpty());
  EXPECT_EQ(report.left_out_accesses(), 3);
}

// fusion.0's operand is as long as its output, which is wanted elsewhere: no filter tells them
// apart.
TEST(ExportOverrides, AnInputWhoseUsesCannotBeNamedIsLeftOut) {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex x = builder.AddBuffer(100);
  builder.AddInstruction(100, {Read(input, 20), Write(x, 10)});
  const v1::OverridesReport report = Export(WithDefault(builder.BuildProto(), "11"), Wanted("01"));
  EXPECT_THAT(report.items(), IsEmpty());
  EXPECT_EQ(report.left_out_accesses(), 1);
  EXPECT_EQ(report.left_out_share(), 1);
}

TEST(ExportOverrides, OfAnInputOnlyTheUsesAreKept) {
  const v1::OverridesReport report =
      Export(WithDefault(ThreeFusions(), "000001"), Wanted("000000"));
  ASSERT_EQ(report.items_size(), 1);
  EXPECT_EQ(report.items(0).kind(), "keep_value");
  EXPECT_EQ(report.items(0).instruction(), "value.0");
  EXPECT_THAT(report.items(0).accesses(), ElementsAre(5));
  // fusion.0, fusion.1, fusion.2. fusion.0's operand of 400 bytes is told from its output of 100,
  // wanted in HBM as well, all the same.
  ASSERT_EQ(report.items(0).tensor_overrides_size(), 3);
  EXPECT_EQ(report.items(0).tensor_overrides(0),
            R"(overrides { hlo_operand_filter { instruction_name_regex: "^fusion\\.0$" )"
            R"(operand_number: 0 tuple_index {} size_gte: 250 size_lte: 401 } )"
            R"(keep_in_default_memory {} })");
  EXPECT_THAT(report.items(0).sort_overrides(), IsEmpty());
}

TEST(ExportOverrides, AValueThatIsMissedInFastMemoryIsAssignedFirst) {
  const v1::OverridesReport report =
      Export(WithDefault(ThreeFusions(), "010000"), Wanted("011000"));
  ASSERT_EQ(report.items_size(), 1);
  const Item& item = report.items(0);
  EXPECT_EQ(item.kind(), "assign_first");
  EXPECT_EQ(item.instruction(), "fusion.0");
  EXPECT_THAT(item.accesses(), ElementsAre(2));
  EXPECT_EQ(item.gain_cycles(), 5);
  EXPECT_THAT(item.tensor_overrides(), IsEmpty());
  const std::string first =
      R"(overrides { hlo_position_matcher { instruction_name_regex: "^fusion\\.0$" )"
      R"(tuple_index {} size_gte: 99 size_lte: 101 } override_options { assign_first: true } })";
  EXPECT_THAT(item.sort_overrides(), ElementsAre(first));
  EXPECT_EQ(item.strict(),
            R"(overrides { hlo_position_matcher { instruction_name_regex: "^fusion\\.0$" )"
            R"(tuple_index {} size_gte: 99 size_lte: 101 } pin_in_alternate_memory {} })");
  EXPECT_EQ(OptionLines(report), absl::StrCat("xla_tpu_msa_sort_order_overrides=", first, "\n"));
}

TEST(ExportOverrides, AnInputIsAssignedFirstAndNeverPinned) {
  const Mapping wanted = Wanted(
      "000101", {{.buffer = 0, .first = 1, .last = 2, .copy_in_start = 1, .copy_in_done = 1}});
  const v1::OverridesReport report = Export(WithDefault(ThreeFusions(), "000000"), wanted);
  ASSERT_EQ(report.items_size(), 1);
  EXPECT_EQ(report.items(0).kind(), "assign_first");
  EXPECT_THAT(
      report.items(0).sort_overrides(),
      ElementsAre(R"(overrides { hlo_position_matcher { instruction_name_regex: "^value\\.0$" )"
                  R"(tuple_index {} size_gte: 399 size_lte: 401 } )"
                  R"(override_options { assign_first: true } })"));
  EXPECT_EQ(report.items(0).strict(),
            R"(overrides { hlo_operand_filter { instruction_name_regex: "^fusion\\.1$" )"
            R"(operand_number: 1 tuple_index {} size_gte: 399 size_lte: 401 } )"
            R"(prefetch { before_instruction { )"
            R"(instruction_name_regex: "^fusion\\.1$" } } })");
}

TEST(ExportOverrides, SingleUsesAreLeftOutUnlessAskedFor) {
  // x leaves fast memory for its last use only.
  const Program program = WithDefault(ThreeFusions(), "011010");
  const v1::OverridesReport values = Export(program, Wanted("011000"));
  EXPECT_THAT(values.items(), IsEmpty());
  EXPECT_EQ(values.left_out_accesses(), 1);
  EXPECT_EQ(values.left_out_share(), 1);

  const v1::OverridesReport uses = Export(program, Wanted("011000"), OverrideScope::kUses);
  ASSERT_EQ(uses.items_size(), 1);
  EXPECT_EQ(uses.items(0).kind(), "keep_use");
  EXPECT_EQ(uses.items(0).instruction(), "fusion.2");
  EXPECT_THAT(uses.items(0).accesses(), ElementsAre(4));
  EXPECT_EQ(uses.items(0).gain_cycles(), 4);
  EXPECT_EQ(uses.items(0).tensor_overrides_size(), 1);
  EXPECT_EQ(uses.left_out_accesses(), 0);
  EXPECT_EQ(uses.left_out_share(), 0);
}

TEST(ExportOverrides, AUseThatMovesToFastMemoryWhileAnotherLeavesItIsPrefetched) {
  // The input is in fast memory for fusion.0 by default, wanted for fusion.1 and fusion.2, which
  // one copy serves.
  const Mapping wanted = Wanted(
      "000101", {{.buffer = 0, .first = 0, .last = 2, .copy_in_start = 0, .copy_in_done = 1}});
  const v1::OverridesReport report =
      Export(WithDefault(ThreeFusions(), "100000"), wanted, OverrideScope::kUses);
  // 7 + 7 gained by the copy, 20 lost.
  EXPECT_THAT(KindsOf(report), ElementsAre("prefetch_use", "keep_use"));
  EXPECT_THAT(report.items(0).accesses(), ElementsAre(3, 5));
  EXPECT_EQ(report.items(0).gain_cycles(), 14);
  EXPECT_THAT(
      report.items(0).tensor_overrides(),
      ElementsAre(
          R"(overrides { hlo_operand_filter { instruction_name_regex: )"
          R"("^fusion\\.1$" operand_number: 1 tuple_index {} size_gte: 399 size_lte: 401 } prefetch { )"
          R"(before_instruction { instruction_name_regex: "^fusion\\.0$" } } })"));
  EXPECT_EQ(report.items(1).gain_cycles(), -20);
}

TEST(ExportOverrides, ItemsAreNumberedByGainAndOptionsJoinThemInThatOrder) {
  // The input comes to fusion.1 (7 cycles); x goes (-10 - 5 + 4).
  const v1::OverridesReport report =
      Export(WithDefault(ThreeFusions(), "011010"), Wanted("000101"));
  EXPECT_THAT(KindsOf(report), ElementsAre("assign_first", "keep_value"));
  EXPECT_EQ(report.items(0).id(), 0);
  EXPECT_EQ(report.items(0).gain_cycles(), 14);
  EXPECT_EQ(report.items(1).id(), 1);
  EXPECT_EQ(report.items(1).gain_cycles(), -11);
  EXPECT_EQ(report.options_size(), 2);
  EXPECT_EQ(report.options().at(kSortOrderOverridesOption), report.items(0).sort_overrides(0));
  EXPECT_EQ(
      report.options().at(kTensorOverridesOption),
      absl::StrCat(report.items(1).tensor_overrides(0), " ", report.items(1).tensor_overrides(1),
                   " ", report.items(1).tensor_overrides(2)));
}

TEST(ExportOverrides, GainCountsExecutions) {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(400, {.live_in = true});
  builder.BeginLoop(3);
  builder.AddInstruction(50, {Read(input, 7)});
  builder.EndLoop();
  const v1::OverridesReport report = Export(WithDefault(builder.BuildProto(), "0"), Wanted("1"));
  ASSERT_EQ(report.items_size(), 1);
  EXPECT_EQ(report.items(0).gain_cycles(), 21);
  EXPECT_EQ(report.items(0).bytes_moved(), 1200);
}

// The body's own value of a carried buffer has no HLO instruction of its own to name.
TEST(ExportOverrides, WhatALoopHandsToItsBodyIsLeftToTheValueThatEntersIt) {
  ProgramBuilder builder;
  const BufferIndex initial = builder.AddBuffer(100);
  const BufferIndex parameter = builder.AddBuffer(100);
  const BufferIndex root = builder.AddBuffer(100);
  const BufferIndex result = builder.AddBuffer(100);
  builder.AddInstruction(10, {Write(initial)});  // access 0
  const LoopIndex loop = builder.BeginLoop(3);
  builder.AddInstruction(10, {Read(parameter, 2), Write(root, 2)});  // 1, 2
  builder.EndLoop();
  builder.AddInstruction(10, {Read(result, 2)});  // 3
  builder.AddCarriedGroup(loop, initial, parameter, root, result);
  const v1::OverridesReport report =
      Export(WithDefault(builder.BuildProto(), "0000"), Wanted("1111"));
  EXPECT_THAT(KindsOf(report), ElementsAre("assign_first", "assign_first"));
  EXPECT_EQ(report.items(0).buffer(), root);
  EXPECT_EQ(report.items(1).buffer(), initial);
  EXPECT_EQ(report.left_out_accesses(), 2);
  EXPECT_EQ(report.left_out_share(), 0.5);  // 300 + 100 of 100 + 300 + 300 + 100 bytes
}

}  // namespace
}  // namespace mallocmuzero
