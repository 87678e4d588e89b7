#include "simulator/import/analysis/live_range.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

// The priced steps: 0 makes %k, 1 %t; 2 begins %outer; 3 makes %m, 4 %t1; 5 begins %inner; 6 makes
// %s, 7 %v, 8 %r2; 9 ends %inner; 10 makes %r1; 11 ends %outer; 12 makes %z.
constexpr char kNestedLoops[] = R"(HloModule m, is_scheduled=true

ENTRY %main () -> f32[] {
%a = f32[64] parameter(0)
%k = f32[64] negate(%a)
%t = (f32[64], f32[64]) tuple(%a, %k)
%outer = (f32[64], f32[64]) while(%t), condition=%c1, body=%b1
%g = f32[64] get-tuple-element(%outer), index=0
ROOT %z = f32[64] abs(%g)
}
%b1 (p1: (f32[64], f32[64])) -> (f32[64], f32[64]) {
%p1 = (f32[64], f32[64]) parameter(0)
%x1 = f32[64] get-tuple-element(%p1), index=0
%y1 = f32[64] get-tuple-element(%p1), index=1
%m = f32[64] negate(%x1)
%t1 = (f32[64], f32[64], f32[64]) tuple(%x1, %y1, %m)
%inner = (f32[64], f32[64], f32[64]) while(%t1), condition=%c2, body=%b2
%i = f32[64] get-tuple-element(%inner), index=0
ROOT %r1 = (f32[64], f32[64]) tuple(%i, %y1)
}
%b2 (p2: (f32[64], f32[64], f32[64])) -> (f32[64], f32[64], f32[64]) {
%p2 = (f32[64], f32[64], f32[64]) parameter(0)
%x2 = f32[64] get-tuple-element(%p2), index=0
%y2 = f32[64] get-tuple-element(%p2), index=1
%m2 = f32[64] get-tuple-element(%p2), index=2
%s = f32[64] add(%x2, %y2)
%v = f32[64] add(%s, %m2)
ROOT %r2 = (f32[64], f32[64], f32[64]) tuple(%v, %y2, %m2)
}
%c1 (q1: (f32[64], f32[64])) -> pred[] {
%q1 = (f32[64], f32[64]) parameter(0)
ROOT %u1 = pred[]{:S(6)} constant(true)
}
%c2 (q2: (f32[64], f32[64], f32[64])) -> pred[] {
%q2 = (f32[64], f32[64], f32[64]) parameter(0)
ROOT %u2 = pred[]{:S(6)} constant(true)
}
)";

// When the first array of an instruction is in use.
std::pair<int32_t, int32_t> RangeInNestedLoops(absl::string_view instruction,
                                               absl::string_view computation) {
  const auto analyzed = testing::MustAnalyze(kNestedLoops);
  const int32_t storage = testing::StoragesOf(*analyzed, instruction, computation)[0];
  const LiveRange range = ComputeLiveRanges(*analyzed)[storage];
  return {range.first, range.last};
}

TEST(LiveRange, WhatAnInnerLoopReadsLivesUpToTheEndOfAllLoopsThatItIsMadeBefore) {
  EXPECT_EQ(RangeInNestedLoops("k", "main"), std::pair(0, 11));
  EXPECT_EQ(RangeInNestedLoops("m", "b1"), std::pair(3, 9));  // each pass makes it anew
}

TEST(LiveRange, WhatAPassMakesAndUsesLivesInItOnly) {
  EXPECT_EQ(RangeInNestedLoops("s", "b2"), std::pair(6, 7));
}

TEST(LiveRange, WhatALoopCarriesIsInUseAtItsMarkers) {
  EXPECT_EQ(RangeInNestedLoops("p1", "b1"), std::pair(2, 5));  // to the begin of %inner
  EXPECT_EQ(RangeInNestedLoops("v", "b2"), std::pair(7, 9));   // to the end of the pass
  EXPECT_EQ(RangeInNestedLoops("inner", "b1"), std::pair(9, 11));
  EXPECT_EQ(RangeInNestedLoops("outer", "main"), std::pair(11, 12));
}

}  // namespace
}  // namespace mallocmuzero
