#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/call_graph.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kModule[] =
    R"(HloModule jit_f, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias), {1}: (3, {0,2}, must-alias), {2}: (1, {}) }, entry_computation_layout={(bf16[13,512]{1,0:T(8,128)(2,1)}, /*index=5*/f32[])->f32[]}, frontend_attributes={modes="a;}b",xla.sdy.meshes={empty_mesh = #sdy.mesh<[]>}}

FileNames
1 "cap.py"
2 "odd } \" name.py"

FunctionNames
1 "<module>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=14 end_line=14 column=12 end_column=36}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%add (lhs: f32[], rhs: f32[]) -> f32[] {
  %rhs = f32[] parameter(1)
  %lhs = f32[] parameter(0)
  ROOT %sum = f32[] add(%lhs, %rhs)
}, execution_thread="main"

ENTRY %main.1 (x: (f32[4], s32[])) -> f32[] {
  %x = (f32[4]{0:T(128)}, s32[]{:T(128)}) parameter(0)
  %first = f32[4]{0:T(128)} get-tuple-element(%x), index=0
  ROOT %sum = f32[]{:T(128)} reduce(%first, %zero), dimensions={0}, to_apply=%add
}
)";

std::string ModuleText() {
  std::string text = kModule;
  text.insert(text.find("  %first ="), "  %zero = f32[]{:T(128)} constant(0)\n");
  return text;
}

TEST(ModuleParser, ReadsHeaderTablesAndComputations) {
  const Module module = MustParse(ModuleText());
  EXPECT_EQ(module.name, "jit_f");
  EXPECT_TRUE(module.is_scheduled);
  ASSERT_EQ(module.computations.size(), 2);
  EXPECT_EQ(module.entry, 1);
  EXPECT_EQ(module.Entry().name, "main.1");
  EXPECT_EQ(module.Find("add"), 0);
  EXPECT_EQ(module.Find("absent"), absl::nullopt);
  EXPECT_EQ(module.Entry().Find("first"), 2);
  EXPECT_EQ(module.Entry().Find("lhs"), absl::nullopt);
  EXPECT_EQ(module.Entry().root, 3);
  EXPECT_EQ(module.computations[0].line, 17);
  EXPECT_EQ(module.Entry().line, 23);
  EXPECT_EQ(Get(module, "sum").line, 27);
}

TEST(ModuleParser, ReadsInputOutputAliases) {
  const Module module = MustParse(ModuleText());
  ASSERT_EQ(module.input_output_aliases.size(), 3);
  EXPECT_THAT(module.input_output_aliases[0].output_index, IsEmpty());
  EXPECT_EQ(module.input_output_aliases[0].parameter_number, 0);
  EXPECT_FALSE(module.input_output_aliases[0].must_alias);
  EXPECT_THAT(module.input_output_aliases[1].output_index, ElementsAre(1));
  EXPECT_EQ(module.input_output_aliases[1].parameter_number, 3);
  EXPECT_THAT(module.input_output_aliases[1].parameter_index, ElementsAre(0, 2));
  EXPECT_TRUE(module.input_output_aliases[1].must_alias);
  EXPECT_FALSE(module.input_output_aliases[2].must_alias);
}

TEST(ModuleParser, OrdersParametersByNumber) {
  const Module module = MustParse(ModuleText());
  EXPECT_THAT(module.computations[0].parameters, ElementsAre(1, 0));
}

TEST(ModuleParser, StaysValidWhenMoved) {
  Module module = MustParse(ModuleText());
  const Module moved = std::move(module);
  EXPECT_EQ(Get(moved, "first").tuple_index, 0);
  EXPECT_EQ(moved.Entry().instructions[0].name, "x");
}

TEST(ModuleParser, TakesHeadersWithoutParametersAndPercent) {
  const Module module =
      MustParse("HloModule m\nmain {\n  a = f32[] iota()\n}\nENTRY e {b = f32[] iota()}");
  EXPECT_FALSE(module.is_scheduled);
  ASSERT_EQ(module.computations.size(), 2);
  EXPECT_EQ(module.Entry().name, "e");
}

TEST(ModuleParser, TakesTheLastInstructionAsRootIfNoneIsMarked) {
  const Module module = MustParse(EntryModule("  %a = f32[] iota()\n  %b = f32[] iota()"));
  EXPECT_EQ(module.Entry().root, 1);
  EXPECT_TRUE(Get(module, "b").is_root);
  const Module marked = MustParse(EntryModule("  ROOT %a = f32[] iota()\n  %b = f32[] iota()"));
  EXPECT_EQ(marked.Entry().root, 0);
}

TEST(ModuleParser, ResolvesCallsForwardAndBackward) {
  const Module module = MustParse(
      "HloModule m\n%f { ROOT %c = f32[] call(), to_apply=%g }\n"
      "ENTRY %e { %x = f32[] call(), to_apply=%f }\n%g { %d = f32[] iota() }\n");
  EXPECT_EQ(module.computations[0].instructions[0].Called(CallRole::kToApply), 2);
  EXPECT_EQ(Get(module, "x").Called(CallRole::kToApply), 0);
}

// Text of `count` computations, each of which calls the next one.
std::string CallChain(int count) {
  std::string text = "HloModule m\nENTRY %c0 { %x = f32[] call(), to_apply=%c1 }\n";
  for (int i = 1; i < count; ++i) {
    absl::StrAppend(&text, "%c", i, " { %x = f32[] call(), to_apply=%c", i + 1, " }\n");
  }
  return absl::StrCat(text, "%c", count, " { %x = f32[] iota() }\n");
}

TEST(ModuleParser, BoundsTheDepthOfCalls) {
  MustParse(CallChain(kMaxCallDepth));
  EXPECT_THAT(ParseError(CallChain(kMaxCallDepth + 1)),
              ::testing::HasSubstr("expected at most 128 calls inside each other, found '%c"));
}

}  // namespace
}  // namespace mallocmuzero::hlo
