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

// The outer body's parameter has one more element than it had, a second copy of %bw. The inner loop
// takes the elements that it took before.
TEST(PlaceLoops, AParameterWithAnAddedElementIsNotHandedOnWhole) {
  const Placeable loops = Import(ModuleFromText(R"(
computation inner_body
  ip = (s32[], f32[1024], f32[1024]) parameter() number=0
  ii = s32[] get-tuple-element(ip) index=0
  ix = f32[1024] get-tuple-element(ip) index=1
  iw = f32[1024] get-tuple-element(ip) index=2
  ione = s32[] constant() value=1
  ini = s32[] add(ii, ione)
  inx = f32[1024] multiply(ix, iw)
  ROOT it = (s32[], f32[1024], f32[1024]) tuple(ini, inx, iw)
computation inner_condition
  jp = (s32[], f32[1024], f32[1024]) parameter() number=0
  ji = s32[] get-tuple-element(jp) index=0
  jfive = s32[] constant() value=5
  ROOT jless = pred[] compare(ji, jfive)
computation body
  bp = (s32[], f32[1024], f32[1024]) parameter() number=0
  bw = f32[1024] get-tuple-element(bp) index=2
  fast = f32[1024] abs(bw)
  slow = f32[1024] negate(bw)
  inner = (s32[], f32[1024], f32[1024]) while(bp) calls=inner_body,inner_condition
  ni = s32[] get-tuple-element(inner) index=0
  nx = f32[1024] get-tuple-element(inner) index=1
  sum = f32[1024] add(fast, slow)
  all = f32[1024] add(nx, sum)
  ROOT bt = (s32[], f32[1024], f32[1024]) tuple(ni, all, bw)
computation condition
  cp = (s32[], f32[1024], f32[1024]) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  five = s32[] constant() value=9
  ROOT less = pred[] compare(ci, five)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  start = f32[1024] copy(x)
  t = (s32[], f32[1024], f32[1024]) tuple(count, start, w)
  loop = (s32[], f32[1024], f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=1
)"));
  const Program& program = loops.program;
  const InstructionIndex start = Number(program, "start");
  const Interval stay = {.buffer = BufferMadeBy(program, "w"),
                         .first = start,
                         .last = program.loops()[LoopIndex(0)].end,
                         .copy_in_start = start,
                         .copy_in_done = start};
  Mapping mapping = AllHbmMapping(program);
  mapping.intervals.push_back(stay);
  for (const AccessIndex a : program.AccessesOfBuffer(stay.buffer)) {
    if (program.accesses()[a].instruction == Number(program, "fast")) mapping.in_fast_memory[a] = 1;
  }
  const std::string text = Place(loops, mapping);
  EXPECT_THAT(text, HasSubstr("%bp = (s32[], f32[1024]{0}, f32[1024]{0}, f32[1024]{0:S(1)}) "));
  EXPECT_THAT(text, HasSubstr("%inner = (s32[], f32[1024]{0}, f32[1024]{0}) while(%tuple."));
}

}  // namespace
}  // namespace mallocmuzero::place
