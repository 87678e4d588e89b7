// Tests of modules that are no programs, whatever their placement.

#include <string>

#include "base/utf8.h"
#include "simulator/place_check/check_placed.h"
#include "simulator/place_check/test_util.h"

namespace mallocmuzero::place_check {
namespace {

TEST(MalformedModules, AreNamed) {
  const xla::HloModuleProto good = ModuleFromText(kChain.original);
  xla::HloModuleProto bad = good;
  bad.mutable_computations(2)->mutable_instructions(3)->set_operand_ids(0, 12345);
  EXPECT_THAT(ExaminePlaced(bad, good, TestOptions()).violations,
              Breaks(PlacedRule::kMalformedOriginal));
  EXPECT_THAT(ExaminePlaced(good, bad, TestOptions()).violations,
              Breaks(PlacedRule::kMalformedPlaced));
  EXPECT_THAT(ExaminePlaced({}, {}, TestOptions()).violations,
              Breaks(PlacedRule::kMalformedPlaced));
}

TEST(MalformedModules, RefusesCyclesAndRecursion) {
  const xla::HloModuleProto good = ModuleFromText(kChain.original);
  xla::HloModuleProto self = good;
  auto& instruction = *self.mutable_computations(2)->mutable_instructions(3);
  instruction.set_operand_ids(0, instruction.id());
  EXPECT_THAT(ExaminePlaced(good, self, TestOptions()).violations,
              Breaks(PlacedRule::kMalformedPlaced));
  xla::HloModuleProto recursive = good;
  recursive.mutable_computations(2)->mutable_instructions(3)->set_called_computation_ids(0, 3);
  EXPECT_THAT(ExaminePlaced(good, recursive, TestOptions()).violations,
              Breaks(PlacedRule::kMalformedPlaced));
}

TEST(MalformedModules, FindsAProgramShapeThatIsNotThere) {
  xla::HloModuleProto placed = ModuleFromText(kChain.placed);
  placed.mutable_computations(0)->mutable_program_shape()->mutable_result()->add_dimensions(2);
  placed.mutable_computations(0)->mutable_program_shape()->mutable_result()->clear_layout();
  EXPECT_THAT(ExaminePlaced(ModuleFromText(kChain.original), placed, TestOptions()).violations,
              Breaks(PlacedRule::kStatedShape));
}

TEST(MalformedModules, FindsAMissingSequence) {
  xla::HloModuleProto placed = ModuleFromText(kLoop.placed);
  placed.mutable_schedule()->mutable_sequences()->erase(1);
  EXPECT_THAT(ExaminePlaced(ModuleFromText(kLoop.original), placed, TestOptions()).violations,
              Breaks(PlacedRule::kSchedule));
}

TEST(MalformedModules, FindsABodyThatTwoLoopsShare) {
  const std::string twice =
      Replaced(kLoop.original, "  ROOT r = f32[1024] get-tuple-element(loop) index=1",
               "  more = (s32[], f32[1024], f32[1024]) while(loop) calls=body,condition\n"
               "  ROOT r = f32[1024] get-tuple-element(more) index=1");
  EXPECT_THAT(Check(twice, twice), Breaks(PlacedRule::kMalformedOriginal));
}

// A fused computation has no sequence, but the walks of a loop read that of its body.
TEST(MalformedModules, FindsABodyThatIsAlsoFused) {
  const std::string also_fused =
      Replaced(kLoop.original, "  loop = (s32[]",
               "  same = (s32[], f32[1024], f32[1024]) fusion(t) calls=body\n  loop = (s32[]");
  EXPECT_THAT(Check(kLoop.original, also_fused), Breaks(PlacedRule::kMalformedPlaced));
  EXPECT_THAT(Check(also_fused, also_fused), Breaks(PlacedRule::kMalformedOriginal));
}

// Without a limit, names of megabytes in a thousand violations would fill the memory.
TEST(MalformedModules, AreDescribedInMessagesOfAtMost2000Bytes) {
  xla::HloModuleProto placed = ModuleFromText(kChain.placed);
  for (xla::HloInstructionProto& instruction :
       *placed.mutable_computations(3)->mutable_instructions()) {
    instruction.set_name(instruction.name() + std::string(5000, 'n') + "\xff");
  }
  const PlacedCheck check = ExaminePlaced(ModuleFromText(kChain.original), placed, TestOptions());
  EXPECT_THAT(check.violations, Breaks(PlacedRule::kExtraInstruction));
  for (const PlacedViolation& violation : check.violations) {
    EXPECT_LE(violation.message.size(), 2000);
    EXPECT_TRUE(IsUtf8(violation.message));
  }
}

}  // namespace
}  // namespace mallocmuzero::place_check
