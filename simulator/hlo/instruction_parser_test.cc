#include "simulator/hlo/instruction_parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/testing/modules.h"

namespace mallocmuzero::hlo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kCallees[] = R"(
%body (p: f32[]) -> f32[] {
  ROOT %p = f32[] parameter(0)
}
%other (q: f32[]) -> f32[] {
  ROOT %q = f32[] parameter(0)
}
)";

// A module with two parameters and then `lines`, which may call %body and %other.
Module ParseLines(absl::string_view lines) {
  return MustParse(EntryModule(
      absl::StrCat("  %a = f32[2] parameter(0)\n  %b = f32[2] parameter(1)\n", lines), kCallees));
}

TEST(InstructionParser, ReadsOperandsInOrder) {
  const Module module = ParseLines("  ROOT %s = f32[2] subtract(%b, /*index=1*/%a)");
  const Instruction& subtract = Get(module, "s");
  EXPECT_EQ(subtract.opcode, Opcode::kSubtract);
  EXPECT_EQ(subtract.opcode_text, "subtract");
  EXPECT_THAT(subtract.operands, ElementsAre(1, 0));
  EXPECT_TRUE(subtract.is_root);
  EXPECT_EQ(subtract.line, 6);
  EXPECT_EQ(Get(module, "b").parameter_number, 1);
  EXPECT_FALSE(Get(module, "b").is_root);
}

TEST(InstructionParser, TakesOperandsWithShapesAndWithoutPercent) {
  const Module module = ParseLines(
      "  t = (f32[2], f32[2]) tuple(f32[2]{0:T(128)} %a, f32[2] b)\n"
      "  %g = f32[2] get-tuple-element((f32[2], f32[2]{0}) %t), index=1\n"
      "  %h = f32[2] add(a, b(f32[2]) %b)");
  EXPECT_THAT(Get(module, "t").operands, ElementsAre(0, 1));
  EXPECT_THAT(Get(module, "g").operands, ElementsAre(2));
  EXPECT_EQ(Get(module, "g").tuple_index, 1);
  EXPECT_THAT(Get(module, "h").operands, ElementsAre(0, 1));
}

TEST(InstructionParser, KeepsConstantLiteralsOfAnyNesting) {
  const Module module = ParseLines(
      "  %c = s32[]{:T(128)} constant(-12)\n"
      "  %d = f32[2,2] constant({ { 1, (2, 3) }, { /*i1=1*/ inf, nan } }), "
      "metadata={op_name=\"x\"}\n"
      "  %e = f32[3] constant({...})\n"
      "  %f = pred[] constant(true)");
  EXPECT_EQ(Get(module, "c").literal, "-12");
  EXPECT_EQ(Get(module, "d").literal, "{ { 1, (2, 3) }, { /*i1=1*/ inf, nan } }");
  EXPECT_EQ(Get(module, "d").op_name, "x");
  EXPECT_EQ(Get(module, "e").literal, "{...}");
  EXPECT_EQ(Get(module, "f").literal, "true");
}

TEST(InstructionParser, KeepsWhatIsNeededToCountFlopsAndBytes) {
  const Module module = ParseLines(
      "  %c = f32[2] convolution(%a, %b), window={size=3x3 pad=1_1x1_1}, "
      "dim_labels=b01f_01io->b01f,"
      " feature_group_count=4, batch_group_count=2\n"
      "  %d = f32[2] dot(%a, %b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  %s = f32[2] slice(%a), slice={[3072:4096], [0:1024:2]}\n"
      "  %g = f32[2] all-gather(%a), replica_groups=mesh['x'=2,'y'=2] {'x'}, dimensions={1}\n"
      "  %h = f32[2] all-gather(%a), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}");
  const Instruction& convolution = Get(module, "c");
  EXPECT_EQ(convolution.FindAttribute("window"), "{size=3x3 pad=1_1x1_1}");
  EXPECT_EQ(convolution.FindAttribute("dim_labels"), "b01f_01io->b01f");
  EXPECT_EQ(convolution.FindAttribute("feature_group_count"), "4");
  EXPECT_EQ(convolution.FindAttribute("batch_group_count"), "2");
  EXPECT_EQ(Get(module, "d").FindAttribute("lhs_contracting_dims"), "{1}");
  EXPECT_EQ(Get(module, "d").FindAttribute("rhs_contracting_dims"), "{0}");
  EXPECT_EQ(Get(module, "s").FindAttribute("slice"), "{[3072:4096], [0:1024:2]}");
  EXPECT_EQ(Get(module, "g").FindAttribute("replica_groups"), "mesh['x'=2,'y'=2] {'x'}");
  EXPECT_EQ(Get(module, "g").FindAttribute("dimensions"), "{1}");
  EXPECT_EQ(Get(module, "h").FindAttribute("replica_groups"), "[2,4]<=[4,2]T(1,0)");
  EXPECT_EQ(Get(module, "h").FindAttribute("absent"), "");
}

TEST(InstructionParser, SkipsWhatNobodyPrices) {
  const Module module = ParseLines(
      "  %n = f32[2] negate(%a), sharding={devices=[2,1]<=[2]}, origin={{\"x\" {0}}},"
      " frontend_attributes={note=\"brace } quote \\\" comma ,\",m={e = #sdy.mesh<[]>}},"
      " metadata={op_type=\"neg\" op_name=\"jit(f)/P[\\'t\\'][0]\" source_file=\"a } b\""
      " profile_type={1} stack_frame_id=3}, kind=kLoop");
  const Instruction& negate = Get(module, "n");
  EXPECT_EQ(negate.op_name, "jit(f)/P[\\'t\\'][0]");
  ASSERT_EQ(negate.attributes.size(), 1);
  EXPECT_EQ(negate.FindAttribute("kind"), "kLoop");
}

TEST(InstructionParser, ReadsCallsByRole) {
  const Module module = ParseLines(
      "  %w = f32[2] while(%a), condition=%other, body=%body\n"
      "  %c = f32[2] conditional(%a, %b, %b), branch_computations={%other, %body}\n"
      "  %d = f32[2] conditional(%a, %b, %b), true_computation=%body, false_computation=other\n"
      "  %f = f32[2] fusion(%a), kind=kLoop, calls=%other\n"
      "  %r = f32[2] reduce(%a, %b), dimensions={0}, to_apply=body\n"
      "  %s = f32[2] select-and-scatter(%a, %b), select=%body, scatter=%other\n"
      "  %k = f32[2] custom-call(%a), custom_call_target=\"X\", called_computations={%body}");
  const ComputationIndex body = *module.Find("body");
  const ComputationIndex other = *module.Find("other");
  EXPECT_EQ(Get(module, "w").Called(CallRole::kBody), body);
  EXPECT_EQ(Get(module, "w").Called(CallRole::kCondition), other);
  for (const absl::string_view name : {"c", "d"}) {
    const Instruction& conditional = Get(module, name);
    ASSERT_EQ(conditional.called_computations.size(), 2);
    EXPECT_EQ(conditional.called_computations[0].role, CallRole::kBranch);
    EXPECT_EQ(conditional.called_computations[0].computation, name == "c" ? other : body);
    EXPECT_EQ(conditional.called_computations[1].computation, name == "c" ? body : other);
  }
  EXPECT_EQ(Get(module, "f").Called(CallRole::kCalls), other);
  EXPECT_EQ(Get(module, "r").Called(CallRole::kToApply), body);
  EXPECT_EQ(Get(module, "s").Called(CallRole::kSelect), body);
  EXPECT_EQ(Get(module, "s").Called(CallRole::kScatter), other);
  EXPECT_EQ(Get(module, "k").Called(CallRole::kCalled), body);
  EXPECT_EQ(Get(module, "k").Called(CallRole::kBody), absl::nullopt);
}

TEST(InstructionParser, TellsAsyncPairsAndWhatTheyWrap) {
  const Module module = ParseLines(
      "  %cs = (f32[2]{0:S(3)}, f32[2], u32[]{:S(2)}) copy-start(%a), "
      "cross_program_prefetch_index=0\n"
      "  %cd = f32[2]{0:S(3)} copy-done(%cs)\n"
      "  %ss = ((f32[2]), f32[1]{0:S(3)}, s32[]{:S(2)}) slice-start(%b), slice={[0:1]}\n"
      "  %sd = f32[1]{0:S(3)} slice-done(%ss)\n"
      "  %as = ((f32[2]), f32[2], s32[]) async-start(%a), calls=%wrapped\n"
      "  %au = ((f32[2]), f32[2], s32[]) async-update(%as)\n"
      "  %ad = f32[2] async-done(%au)\n"
      "  %gs = (f32[2], f32[4]) all-gather-start(%a), dimensions={0}\n"
      "  %gd = f32[4] all-gather-done(%gs)\n"
      "}\n"
      "%wrapped (x: f32[2]) -> f32[2] {\n"
      "  %x = f32[2] parameter(0)\n"
      "  ROOT %y = f32[2] sort(%x), dimensions={0}");
  EXPECT_EQ(Get(module, "cs").opcode, Opcode::kCopyStart);
  EXPECT_EQ(Get(module, "cs").cross_program_prefetch_index, 0);
  EXPECT_EQ(Get(module, "cs").wrapped_opcode, Opcode::kUnknown);
  EXPECT_EQ(Get(module, "cd").opcode, Opcode::kCopyDone);
  EXPECT_EQ(Get(module, "cd").cross_program_prefetch_index, absl::nullopt);
  EXPECT_EQ(Get(module, "ss").opcode, Opcode::kAsyncStart);
  EXPECT_EQ(Get(module, "ss").wrapped_opcode, Opcode::kSlice);
  EXPECT_EQ(Get(module, "sd").opcode, Opcode::kAsyncDone);
  EXPECT_EQ(Get(module, "sd").wrapped_opcode, Opcode::kSlice);
  EXPECT_EQ(Get(module, "as").wrapped_opcode, Opcode::kSort);
  EXPECT_EQ(Get(module, "au").opcode, Opcode::kAsyncUpdate);
  EXPECT_EQ(Get(module, "ad").wrapped_opcode, Opcode::kSort);
  EXPECT_EQ(Get(module, "gs").opcode, Opcode::kAllGatherStart);
  EXPECT_EQ(Get(module, "gd").opcode, Opcode::kAllGatherDone);
  EXPECT_THAT(module.unknown_opcodes, IsEmpty());
}

TEST(InstructionParser, ReadsCustomCallsAliasingAndControlPredecessors) {
  const Module module = ParseLines(
      "  %c = f32[2]{0:S(3)} custom-call(%a, %b), custom_call_target=\"ConcatBitcast\"\n"
      "  %f = (f32[2], (f32[2])) fusion(%a, %c), kind=kLoop, calls=%body, "
      "output_to_operand_aliasing="
      "{{0}: (1, {}), {1,0}: (0, {2}, must-alias)}, control-predecessors={%c, %a}");
  EXPECT_EQ(Get(module, "c").custom_call_target, "ConcatBitcast");
  const Instruction& fusion = Get(module, "f");
  EXPECT_THAT(fusion.control_predecessors, ElementsAre(2, 0));
  ASSERT_EQ(fusion.output_to_operand_aliasing.size(), 2);
  EXPECT_THAT(fusion.output_to_operand_aliasing[0].output_index, ElementsAre(0));
  EXPECT_EQ(fusion.output_to_operand_aliasing[0].operand, 1);
  EXPECT_THAT(fusion.output_to_operand_aliasing[0].operand_index, IsEmpty());
  EXPECT_THAT(fusion.output_to_operand_aliasing[1].output_index, ElementsAre(1, 0));
  EXPECT_THAT(fusion.output_to_operand_aliasing[1].operand_index, ElementsAre(2));
}

TEST(InstructionParser, AcceptsAndListsUnknownOpcodes) {
  const Module module = ParseLines(
      "  %x = f32[2] frobnicate(%a)\n"
      "  %y = f32[2] quux-start(%a, %b), speed=3\n"
      "  %z = f32[2] frobnicate(%y)");
  EXPECT_EQ(Get(module, "x").opcode, Opcode::kUnknown);
  EXPECT_EQ(Get(module, "x").opcode_text, "frobnicate");
  EXPECT_EQ(Get(module, "y").FindAttribute("speed"), "3");
  EXPECT_THAT(module.unknown_opcodes,
              ElementsAre(std::pair<absl::string_view, int64_t>("frobnicate", 2),
                          std::pair<absl::string_view, int64_t>("quux-start", 1)));
}

}  // namespace
}  // namespace mallocmuzero::hlo
