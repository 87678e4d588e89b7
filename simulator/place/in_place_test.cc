#include "simulator/place/in_place.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/fingerprint.h"
#include "simulator/place/test_util.h"

namespace mallocmuzero::place {
namespace {

using place_check::ModuleFromText;
using testing::HasSubstr;
using testing::Not;

// A mapping of the module kListed with one interval, of the donated parameter: a copy in, the
// update, a copy out.
Mapping UpdateOfCopy(const Program& program) {
  const InstructionIndex up = Number(program, "up");
  const InstructionIndex sum = Number(program, "sum");
  return OneStay(program, {.buffer = BufferMadeBy(program, "w"),
                           .first = up,
                           .last = sum,
                           .copy_in_start = up,
                           .copy_in_done = up,
                           .copy_out_start = sum,
                           .copy_out_done = sum + 1});
}

TEST(StateAliases, AFusionThatUpdatesACopyInPlaceStatesTheAlias) {
  const Placeable listed = ImportWithDefault(ModuleFromText(place_check::kListed.original));
  ASSERT_EQ(BufferMadeBy(listed.program, "w"), BufferMadeBy(listed.program, "up"));
  const std::string text = Place(listed, UpdateOfCopy(listed.program));
  EXPECT_THAT(text, HasSubstr("output_to_operand_aliasing={{0}: (0, {})}"));
  EXPECT_THAT(Place(listed, AllHbmMapping(listed.program)), Not(HasSubstr("aliasing={{")));
}

TEST(StateAliases, AnUpdateOfAnotherShapeStatesNoAlias) {
  std::string original(place_check::kListed.original);
  original = place_check::Replaced(original, "w = f32[1024] parameter() number=0",
                                   "w = f32[32,32] parameter() number=0");
  original = place_check::Replaced(original, "s.p0 = f32[1024] parameter() number=0",
                                   "s.v = f32[32,32] parameter() number=0\n"
                                   "  s.p0 = f32[1024] bitcast(s.v)");
  const Placeable listed = ImportWithDefault(ModuleFromText(original));
  EXPECT_THAT(Place(listed, UpdateOfCopy(listed.program)), Not(HasSubstr("aliasing={{")));
}

TEST(StateAliases, AListedPairThatTheFusionLacksIsLeftOut) {
  const Placeable listed = ImportWithDefault(ModuleFromText(place_check::kListed.original));
  v1::Program damaged = listed.program.proto();
  const InstructionIndex up = Number(listed.program, "up");
  v1::Source::Instruction::Alias& alias =
      *damaged.mutable_source()->mutable_instructions(up.number())->add_aliases();
  alias.set_operand(9);
  alias.set_output(9);
  SealProgram(damaged);
  const absl::StatusOr<Program> program = Program::FromProto(std::move(damaged));
  ASSERT_TRUE(program.ok()) << program.status();
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(*program, UpdateOfCopy(*program), listed.module, listed.path);
  ASSERT_TRUE(placed.ok()) << placed.status();
  EXPECT_THAT(Text(placed->module), HasSubstr("output_to_operand_aliasing={{0}: (0, {})}"));
}

TEST(StateAliases, AnOperandThatAFusionUpdatesGetsNoOtherResult) {
  const Placeable listed = ImportWithDefault(ModuleFromText(R"(
computation step
  s.p0 = f32[1024] parameter() number=0
  s.p1 = f32[16] parameter() number=1
  s.p2 = s32[] parameter() number=2
  s.dus = f32[1024] dynamic-update-slice(s.p0, s.p1, s.p2)
  s.neg = f32[1024] negate(s.p0)
  ROOT s.r = (f32[1024], f32[1024]) tuple(s.dus, s.neg)
entry main
  x = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  w = f32[1024] negate(x)
  up = (f32[1024], f32[1024]) fusion(w, y, i) calls=step config={"aliasing_operands":{"lists":[{"indices":["0","4"]}]}}
  up1 = f32[1024] get-tuple-element(up) index=1
  ROOT r = f32[1024] negate(up1)
)"));
  const Program& program = listed.program;
  const std::string text = Place(listed, OneStay(program, {.buffer = BufferMadeBy(program, "w"),
                                                           .first = Number(program, "w"),
                                                           .last = Number(program, "r")}));
  EXPECT_THAT(text, HasSubstr("%w = f32[1024]{0:S(1)} negate("));
  EXPECT_THAT(text, Not(HasSubstr("aliasing={{")));
}

}  // namespace
}  // namespace mallocmuzero::place
