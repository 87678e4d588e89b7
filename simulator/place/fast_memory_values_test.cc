#include "simulator/place/fast_memory_values.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/hlo/print_module.h"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"

namespace mallocmuzero::place {
namespace {

using place_check::ModuleFromText;

hlo::Module Parsed(absl::string_view text) {
  return *hlo::ParseModule(*hlo::PrintModule(ModuleFromText(text)), "test");
}

std::vector<PackedValue> ValuesOf(absl::string_view placed, absl::string_view all_hbm) {
  const std::unique_ptr<AnalyzedModule> analyzed =
      *AnalyzeModule(Parsed(placed), "placed", InPlaceHints());
  return FastMemoryValues(*analyzed, Parsed(all_hbm), 1);
}

std::vector<PackedValue> ValuesOf(const place_check::PlacedCase& each) {
  return ValuesOf(each.placed, each.original);
}

TEST(FastMemoryValues, LiveFromTheirStepToTheLastUse) {
  const std::vector<PackedValue> values = ValuesOf(place_check::kChain);
  // Steps: x 0, w 1, c 2, ws 3, wd 4, f1 5, g 6, back 7, f2 8, es 9, ed 10, f3 11.
  ASSERT_EQ(values.size(), 3);
  EXPECT_EQ(values[0].bytes, 4096);
  EXPECT_EQ(values[0].first, 3);  // the target of a copy exists from the copy's start
  EXPECT_EQ(values[0].last, 11);
  EXPECT_EQ(values[1].first, 5);
  EXPECT_EQ(values[1].last, 8);  // used through a bitcast
  EXPECT_EQ(values[2].first, 8);
  EXPECT_EQ(values[2].last, 10);  // the copy out reads the value until it is done
  for (const PackedValue& value : values) EXPECT_EQ(value.sharing, Sharing::kNone);
}

TEST(FastMemoryValues, AnUpdateInPlaceHasTheBufferOfItsOperand) {
  const std::vector<PackedValue> values = ValuesOf(place_check::kUpdate);
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kMust);
  EXPECT_EQ(values[1].shares_with, 0);
  EXPECT_EQ(values[0].last, values[1].first);
}

TEST(FastMemoryValues, AStatedAliasIsAnUpdateInPlace) {
  const std::vector<PackedValue> values = ValuesOf(place_check::kListed);
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kMust);
}

TEST(FastMemoryValues, WhatALoopCarriesIsOneBuffer) {
  const std::vector<PackedValue> values = ValuesOf(place_check::kLoop);
  int buffers = 0;
  for (const PackedValue& value : values) buffers += value.sharing == Sharing::kNone ? 1 : 0;
  EXPECT_EQ(buffers, 2);  // the carried value, and the second copy of the invariant
  ASSERT_EQ(values.size(), 5);
  // The copy of the invariant lives to the end of the loop, the step that makes the loop's result.
  EXPECT_EQ(values.front().last, values.back().first);
}

constexpr char kPair[] = R"(
computation one
  a.p0 = f32[1024]SPACE parameter() number=0
  ROOT a.neg = f32[1024]SPACE negate(a.p0)
computation two
  b.p0 = f32[1024]SPACE parameter() number=0
  ROOT b.neg = f32[1024] negate(b.p0)
computation three
  c.p0 = f32[1024] parameter() number=0
  ROOT c.neg = f32[1024]SPACE negate(c.p0)
entry main
  x = f32[1024] parameter() number=0
  made = f32[1024]SPACE fusion(x) calls=three
  next = f32[1024]SPACE fusion(made) calls=one LIST
  ROOT out = f32[1024] fusion(USED) calls=two
)";

std::vector<PackedValue> PairOf(absl::string_view list, absl::string_view used) {
  using place_check::Replaced;
  std::string text = kPair;
  for (int i = 0; i < 7; ++i) {
    const size_t at = text.find("SPACE");
    if (at != std::string::npos) text.replace(at, 5, "S1");
  }
  text = Replaced(Replaced(text, "LIST", list), "USED", used);
  std::string original = text;
  for (size_t at = original.find("S1"); at != std::string::npos; at = original.find("S1")) {
    original.erase(at, 2);
  }
  return ValuesOf(text, original);
}

constexpr char kList[] = R"(config={"aliasing_operands":{"lists":[{"indices":["0","1"]}]}})";

TEST(FastMemoryValues, AResultTakesTheBytesOfAListedOperandThatEndsThere) {
  const std::vector<PackedValue> values = PairOf(kList, "next");
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kMay);
  EXPECT_EQ(values[1].shares_with, 0);
}

TEST(FastMemoryValues, AResultDoesNotTakeTheBytesOfAnOperandThatIsUsedLater) {
  const std::vector<PackedValue> values = PairOf(kList, "made");
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kNone);
}

TEST(FastMemoryValues, AResultDoesNotTakeTheBytesOfAnOperandThatIsNotListed) {
  const std::vector<PackedValue> values = PairOf("", "next");
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kNone);
}

TEST(FastMemoryValues, AResultDoesNotTakeTheBytesOfACopy) {
  constexpr absl::string_view kStated = "calls=step over=0:0";
  const std::string placed =
      place_check::Replaced(place_check::kListed.placed, kStated, "calls=step");
  const std::vector<PackedValue> values = ValuesOf(placed, place_check::kListed.original);
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kNone);
}

// The body has an instruction %next, too, with two operands, and the compiler lists the second one.
TEST(FastMemoryValues, AListBelongsToTheInstructionOfItsComputation) {
  constexpr char kTwoOfOneName[] = R"(
computation body
  bp = (f32[1024], f32[1024]) parameter() number=0
  bx = f32[1024] get-tuple-element(bp) index=0
  by = f32[1024] get-tuple-element(bp) index=1
  next = f32[1024] add(bx, by) LIST
  ROOT bt = (f32[1024], f32[1024]) tuple(next, by)
computation condition
  cp = (f32[1024], f32[1024]) parameter() number=0
  less = pred[] constant() value=0
  ROOT go = pred[] copy(less)
entry main
  x = f32[1024] parameter() number=0
  made = f32[1024]S1 abs(x)
  next = f32[1024]S1 negate(made)
  out = f32[1024] negate(next)
  start = f32[1024] copy(out)
  t = (f32[1024], f32[1024]) tuple(start, x)
  loop = (f32[1024], f32[1024]) while(t) calls=body,condition
  ROOT r = f32[1024] get-tuple-element(loop) index=0
)";
  const std::string placed = place_check::Replaced(
      kTwoOfOneName, "LIST", R"(config={"aliasing_operands":{"lists":[{"indices":["1","2"]}]}})");
  const std::vector<PackedValue> values =
      ValuesOf(placed, absl::StrReplaceAll(placed, {{"S1", ""}}));
  ASSERT_EQ(values.size(), 2);
  EXPECT_EQ(values[1].sharing, Sharing::kNone);
}

}  // namespace
}  // namespace mallocmuzero::place
