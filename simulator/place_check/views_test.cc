// Tests of bitcasts to a shape with another number of bytes, such as one with other tiles.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/place_check/test_util.h"

namespace mallocmuzero::place_check {
namespace {

using testing::IsEmpty;

constexpr absl::string_view kViewed = R"(
entry main
  p = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  x = f32[1024] negate(p)
  v = f32[512] bitcast(x)
  vv = f32[2048] bitcast(v)
  k = f32[1024] abs(p)
  read = f32[2048] negate(vv)
  up = f32[1024] dynamic-update-slice(x, y, i)
  ROOT r = (f32[2048], f32[1024], f32[1024]) tuple(read, up, k)
)";

TEST(CheckViews, TakesAReadOfABitcast) { EXPECT_THAT(Check(kViewed, kViewed), IsEmpty()); }

TEST(CheckViews, FindsAReadAfterAnUpdateOfTheOperand) {
  PlacedCheckOptions options = TestOptions();
  options.allow_reordering = true;
  EXPECT_THAT(Check(kViewed, absl::StrCat(kViewed, "swap main read up\n"), options),
              Breaks(PlacedRule::kStaleRead));
}

TEST(CheckViews, FindsAnUpdateThroughABitcastBeforeARead) {
  const std::string original = R"(
entry main
  p = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  x = f32[1024] negate(p)
  v = f32[512] bitcast(x)
  up = f32[512] dynamic-update-slice(v, y, i)
  read = f32[1024] negate(x)
  ROOT r = (f32[1024], f32[512]) tuple(read, up)
)";
  EXPECT_THAT(Check(original, original), Breaks(PlacedRule::kStaleRead));
}

TEST(CheckViews, FindsAnUpdateOfAParameterThroughABitcast) {
  const std::string original = R"(
entry main
  p = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  v = f32[512] bitcast(p)
  up = f32[512] dynamic-update-slice(v, y, i)
  ROOT r = f32[512] negate(up)
)";
  EXPECT_THAT(Check(original, original), Breaks(PlacedRule::kReadOnly));
}

TEST(CheckViews, AnOperandLivesAsLongAsItsBitcast) {
  const std::string original = R"(
entry main
  p = f32[1024] parameter() number=0
  q = f32[4096] parameter() number=1
  x = f32[1024] negate(p)
  v = f32[2048] bitcast(x)
  k = f32[4096] abs(q)
  kk = f32[4096] negate(k)
  read = f32[2048] negate(v)
  ROOT r = (f32[2048], f32[4096]) tuple(read, kk)
)";
  const std::string placed =
      Replaced(Replaced(Replaced(original, "  x = f32[1024] ", "  x = f32[1024]S1 "),
                        "v = f32[2048] ", "v = f32[2048]S1 "),
               "  k = f32[4096] ", "  k = f32[4096]S1 ");
  EXPECT_THAT(Check(original, placed), IsEmpty());
  // The 8192 bytes of %v, which has more than %x, and the 16384 of %k.
  EXPECT_EQ(Examine(original, placed).peak_bytes, 24576);
}

}  // namespace
}  // namespace mallocmuzero::place_check
