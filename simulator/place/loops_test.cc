// Tests of PlaceModule for loops: what they take, hand on, and leave alone.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/place/test_util.h"

namespace mallocmuzero::place {
namespace {

using place_check::ModuleFromText;
using testing::HasSubstr;

// A copy before the loop serves all passes.
TEST(PlaceLoops, AConstantIsCopiedBeforeItsLoop) {
  const Placeable loop = ImportOriginal(place_check::kLoopConstant);
  const Program& program = loop.program;
  const InstructionIndex start = Number(program, "start");
  const std::string text = Place(loop, OneStay(program, {.buffer = BufferMadeBy(program, "c"),
                                                         .first = start,
                                                         .last = program.loops()[LoopIndex(0)].end,
                                                         .copy_in_start = start,
                                                         .copy_in_done = start}));
  EXPECT_LT(text.find("copy-start(%constant.placed."), text.find("while("));
}

// The operand is a tuple by its opcode, but not by its shape.
TEST(PlaceLoops, AnOperandOfAnotherShapeThanTheBodyTakesIsRefused) {
  const Placeable loop = Import(ModuleFromText(R"(
computation body
  bp = (f32[1024]) parameter() number=0
  bx = f32[1024] get-tuple-element(bp) index=0
  nx = f32[1024] negate(bx)
  ROOT bt = (f32[1024]) tuple(nx)
computation condition
  cp = (f32[1024]) parameter() number=0
  less = pred[] constant() value=0
  ROOT go = pred[] copy(less)
entry main
  x = f32[1024] parameter() number=0
  start = f32[1024] copy(x)
  t = f32[1024] tuple(start)
  loop = (f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=0
)"));
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(loop.program, AllHbmMapping(loop.program), loop.module, loop.path);
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("%bp: expected the shape"));
}

}  // namespace
}  // namespace mallocmuzero::place
