#include "simulator/place/fusion_memory.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/place/test_util.h"

namespace mallocmuzero::place {
namespace {

using place_check::ModuleFromText;
using testing::HasSubstr;

// The mapping that has %b in fast memory up to its use by %r.
Mapping OperandInFastMemory(const Program& program) {
  return OneStay(program, {.buffer = BufferMadeBy(program, "b"),
                           .first = Number(program, "b"),
                           .last = Number(program, "r")});
}

// Both fusions call %outer. In the first, nothing is in fast memory, so %inner must stay as it is.
TEST(SetFusedMemory, AFusionInsideTwoFusionsOfOneComputationKeepsItsOwn) {
  const Placeable nested = Import(ModuleFromText(R"(
computation inner
  i.p0 = f32[1024] parameter() number=0
  ROOT i.neg = f32[1024] negate(i.p0)
computation outer
  o.p0 = f32[1024] parameter() number=0
  o.f = f32[1024] fusion(o.p0) calls=inner
  ROOT o.abs = f32[1024] abs(o.f)
entry main
  x = f32[1024] parameter() number=0
  a = f32[1024] fusion(x) calls=outer
  b = f32[1024] negate(a)
  ROOT r = f32[1024] fusion(b) calls=outer
)"));
  const std::string text = Place(nested, OperandInFastMemory(nested.program));
  EXPECT_THAT(text, HasSubstr("%i.p0 = f32[1024]{0} parameter(0)"));
  EXPECT_THAT(text, HasSubstr("%i.p0.placed."));
}

// Each of 20 computations calls the one before it twice, so that 2^20 copies of %c0 are needed.
TEST(SetFusedMemory, TooManyCopiesOfSharedComputationsAreRefused) {
  std::string text = R"(
computation c0
  c0.p = f32[1024] parameter() number=0
  ROOT c0.r = f32[1024] negate(c0.p)
)";
  for (int k = 1; k <= 20; ++k) {
    const std::string name = absl::StrCat("c", k);
    const std::string calls = absl::StrCat(".p) calls=c", k - 1, "\n");
    absl::StrAppend(&text, "computation ", name, "\n  ", name,
                    ".p = f32[1024] parameter() number=0\n  ", name, ".a = f32[1024] fusion(", name,
                    calls, "  ", name, ".b = f32[1024] fusion(", name, calls, "  ROOT ", name,
                    ".r = f32[1024] add(", name, ".a, ", name, ".b)\n");
  }
  const Placeable deep = Import(ModuleFromText(absl::StrCat(text, R"(
entry main
  x = f32[1024] parameter() number=0
  b = f32[1024] negate(x)
  ROOT r = f32[1024] fusion(b) calls=c20
)")));
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(deep.program, OperandInFastMemory(deep.program), deep.module, deep.path);
  EXPECT_EQ(placed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(placed.status().message()), HasSubstr("fusions share computations"));
}

}  // namespace
}  // namespace mallocmuzero::place
