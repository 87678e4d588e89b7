#include "simulator/overrides/override_text.h"

#include "base/testing/index_matching.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(QuotedNameRegex, MatchesTheWholeNameAndEscapesDotsTwice) {
  EXPECT_EQ(QuotedNameRegex("fusion"), R"("^fusion$")");
  EXPECT_EQ(QuotedNameRegex("fusion.12.clone"), R"("^fusion\\.12\\.clone$")");
  EXPECT_EQ(QuotedNameRegex("dynamic-update-slice_fusion.3"),
            R"("^dynamic-update-slice_fusion\\.3$")");
}

TEST(QuotedNameRegex, TakesEveryOtherCharacterLiterally) {
  EXPECT_EQ(QuotedNameRegex("a+b"), R"("^a\\+b$")");
  EXPECT_EQ(QuotedNameRegex("a\"b\\c"), R"("^a\\\"b\\\\c$")");
  EXPECT_EQ(QuotedNameRegex("a\nb"), R"("^a\\\nb$")");  // stays on one line
}

TEST(OverrideText, KeepsAValueInHbmByItsDefinition) {
  EXPECT_EQ(KeepInHbm(Definition{.instruction = "fusion.12"}),
            R"(overrides { hlo_position_matcher { instruction_name_regex: "^fusion\\.12$" )"
            R"(tuple_index {} } keep_in_default_memory {} })");
  EXPECT_EQ(KeepInHbm(Definition{.instruction = "f", .tuple_index = {1, 0}}),
            R"(overrides { hlo_position_matcher { instruction_name_regex: "^f$" )"
            R"(tuple_index { index: 1 index: 0 } } keep_in_default_memory {} })");
}

TEST(OverrideText, KeepsAUseInHbmByOperandTupleIndexAndSize) {
  EXPECT_EQ(KeepInHbm(Use{.instruction = "f", .operand = 2}),
            R"(overrides { hlo_operand_filter { instruction_name_regex: "^f$" operand_number: 2 )"
            R"(tuple_index {} } keep_in_default_memory {} })");
  EXPECT_EQ(KeepInHbm(Use{.instruction = "f", .operand = 0, .tuple_index = {3}, .size_lte = 512}),
            R"(overrides { hlo_operand_filter { instruction_name_regex: "^f$" operand_number: 0 )"
            R"(tuple_index { index: 3 } size_lte: 512 } keep_in_default_memory {} })");
}

TEST(OverrideText, PrefetchesAUseAtATime) {
  const Use use{.instruction = "f", .operand = 1, .size_gte = 64};
  const std::string filter =
      R"(overrides { hlo_operand_filter { instruction_name_regex: "^f$" operand_number: 1 )"
      R"(tuple_index {} size_gte: 64 } prefetch { )";
  EXPECT_EQ(Prefetch(use, {PrefetchTime::Kind::kEagerness}), filter + "prefetch_eagerness: 0 } }");
  EXPECT_EQ(Prefetch(use, {PrefetchTime::Kind::kBefore, "g.1"}),
            filter + R"(before_instruction { instruction_name_regex: "^g\\.1$" } } })");
  EXPECT_EQ(Prefetch(use, {PrefetchTime::Kind::kAfter, "g"}),
            filter + R"(after_instruction { instruction_name_regex: "^g$" } } })");
}

TEST(OverrideText, AssignsFirstAndPinsByDefinition) {
  EXPECT_EQ(AssignFirst(Definition{.instruction = "f"}),
            R"(overrides { hlo_position_matcher { instruction_name_regex: "^f$" tuple_index {} } )"
            R"(override_options { assign_first: true } })");
  EXPECT_EQ(PinInFastMemory(Definition{.instruction = "f", .tuple_index = {1}}),
            R"(overrides { hlo_position_matcher { instruction_name_regex: "^f$" )"
            R"(tuple_index { index: 1 } } pin_in_alternate_memory {} })");
  EXPECT_EQ(AssignFirst(Definition{.instruction = "f", .bytes = 512}),
            R"(overrides { hlo_position_matcher { instruction_name_regex: "^f$" tuple_index {} )"
            R"(size_gte: 511 size_lte: 513 } override_options { assign_first: true } })");
}

}  // namespace
}  // namespace mallocmuzero
