// Tests of PlaceModule for mappings with a cross-program prefetch.

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

// The text of the module with a prefetch of the buffer as in `stay`. A mapping with one is valid
// only for a program whose default has it, too, so this does not validate.
std::string PlacePrefetch(const Placeable& placeable, const Interval& stay) {
  return PlaceUnvalidated(placeable, OneStay(placeable.program, stay));
}

TEST(Prefetch, AConditionalWaitsForOneThatABranchUses) {
  const Placeable branches = Import(ModuleFromText(R"(
computation one
  p0 = f32[1024] parameter() number=0
  ROOT n0 = f32[1024] negate(p0)
computation two
  p1 = f32[1024] parameter() number=0
  ROOT n1 = f32[1024] abs(p1)
entry main
  which = pred[] parameter() number=0
  x = f32[1024] parameter() number=1
  w = f32[1024] parameter() number=2
  first = f32[1024] negate(w)
  choice = f32[1024] conditional(which, x, first) calls=one,two
  ROOT r = f32[1024] negate(choice)
)"));
  const std::string text = PlacePrefetch(branches, {.buffer = BufferMadeBy(branches.program, "x"),
                                                    .last = Number(branches.program, "n0"),
                                                    .cross_program_prefetch = true});
  EXPECT_THAT(text, HasSubstr("%p0 = f32[1024]{0:S(1)} parameter(0)"));
  EXPECT_LT(text.find("copy-done("), text.find("conditional("));
}

TEST(Prefetch, OneThatNothingUsesEnds) {
  const Placeable unused = ImportOriginal(place_check::kPrefetch);
  // The stay ends before the only use of %w.
  const Interval stay = {.buffer = BufferMadeBy(unused.program, "w"),
                         .cross_program_prefetch = true};
  EXPECT_THAT(PlacePrefetch(unused, stay), HasSubstr("copy-done("));
}

// %c is only in the loop's body, which has more instructions than the entry.
TEST(Prefetch, OneOfAConstantInALoopIsRefused) {
  const Placeable loop = Import(ModuleFromText(R"(
computation body
  bp = (f32[1024]) parameter() number=0
  bx = f32[1024] get-tuple-element(bp) index=0
  n0 = f32[1024] negate(bx)
  n1 = f32[1024] abs(n0)
  n2 = f32[1024] negate(n1)
  c = f32[1024] constant() value=3
  nx = f32[1024] add(n2, c)
  ROOT bt = (f32[1024]) tuple(nx)
computation condition
  cp = (f32[1024]) parameter() number=0
  less = pred[] constant() value=0
  ROOT go = pred[] copy(less)
entry main
  x = f32[1024] parameter() number=0
  start = f32[1024] copy(x)
  t = (f32[1024]) tuple(start)
  loop = (f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=0
)"));
  const Mapping mapping = OneStay(loop.program, {.buffer = BufferMadeBy(loop.program, "c"),
                                                 .last = Number(loop.program, "nx"),
                                                 .cross_program_prefetch = true});
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(loop.program, mapping, loop.module, loop.path);
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("%c"));
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("not of a parameter"));
}

}  // namespace
}  // namespace mallocmuzero::place
