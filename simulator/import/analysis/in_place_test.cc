// Which operands instructions and fusions update in place.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::MustAnalyze;
using testing::StoragesOf;
using testing::ValuesOf;

TEST(InPlace, DynamicUpdateSliceAndScatterUpdateInPlace) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%u = f32[1] parameter(1)\n%i = s32[] parameter(2)\n"
      "%d = f32[8] dynamic-update-slice(%a, %u, %i)\n%k = s32[1] parameter(3)\n"
      "ROOT %s = f32[8] scatter(%d, %k, %u), to_apply=%f",
      "%f (p: f32[], q: f32[]) -> f32[] {\n%p = f32[] parameter(0)\n"
      "ROOT %q = f32[] parameter(1)\n}\n"));
  EXPECT_EQ(StoragesOf(*m, "d"), StoragesOf(*m, "a"));
  EXPECT_EQ(StoragesOf(*m, "s"), StoragesOf(*m, "a"));
  EXPECT_NE(ValuesOf(*m, "d"), ValuesOf(*m, "a"));
  EXPECT_NE(StoragesOf(*m, "u"), StoragesOf(*m, "a"));
}

TEST(InPlace, CollectivesOverwriteTheOperandThatTheyFill) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%b = f32[8] parameter(1)\n%c = f32[8] parameter(2)\n"
      "%d = f32[8] parameter(3)\n%k = s32[2] parameter(4)\n%i = s32[] parameter(5)\n"
      "%x = f32[8] ragged-all-to-all(%a, %b, %k, %k, %k, %k), replica_groups={{0,1}}\n"
      "%y = f32[8] collective-permute(%a, %c, %i, %i), source_target_pairs={{0,1}}\n"
      "%z = (f32[8], f32[8], u32[], u32[]) collective-permute-start(%a, %d, %i, %i), "
      "source_target_pairs={{0,1}}\n"
      "ROOT %w = f32[8] collective-permute-done(%z)"));
  EXPECT_EQ(StoragesOf(*m, "x"), StoragesOf(*m, "b"));
  EXPECT_EQ(StoragesOf(*m, "y"), StoragesOf(*m, "c"));
  EXPECT_EQ(StoragesOf(*m, "w"), StoragesOf(*m, "d"));
}

TEST(InPlace, APermuteOfSlicesOfTwoArraysOverwritesBothThatItFills) {
  const std::string pair = "(f32[8], f32[4])";
  const auto m = MustAnalyze(hlo::EntryModule(absl::StrCat(
      "%a = f32[8] parameter(0)\n%b = f32[4] parameter(1)\n%c = f32[8] parameter(2)\n"
      "%d = f32[4] parameter(3)\n%i = s32[] parameter(4)\n%o = (s32[]) tuple(%i)\n"
      "%at = ((s32[]), (s32[])) tuple(%o, %o)\n%from = ",
      pair, " tuple(%a, %b)\n%into = ", pair, " tuple(%c, %d)\n%z = (", pair, ", ", pair,
      ", u32[], u32[]) collective-permute-start(%from, %into, %at, %at), "
      "source_target_pairs={{0,1}}\n%w = ",
      pair, " collective-permute-done(%z)\nROOT %y = ", pair,
      " collective-permute(%from, %w, %at, %at), source_target_pairs={{0,1}}")));
  const std::vector<int32_t> filled = {StoragesOf(*m, "c")[0], StoragesOf(*m, "d")[0]};
  EXPECT_EQ(StoragesOf(*m, "w"), filled);
  EXPECT_EQ(StoragesOf(*m, "y"), filled);
}

TEST(InPlace, APermuteOfFourArraysIsNotInPlace) {
  const auto m = MustAnalyze(
      hlo::EntryModule("%a = f32[8] parameter(0)\n"
                       "ROOT %x = (f32[8], f32[8], f32[8], f32[8]) "
                       "collective-permute(%a, %a, %a, %a), source_target_pairs={{0,1}}"));
  for (const int32_t storage : StoragesOf(*m, "x")) EXPECT_NE(storage, StoragesOf(*m, "a")[0]);
}

TEST(InPlace, SetDimensionSizeReturnsItsOperandsArray) {
  const auto m =
      MustAnalyze(hlo::EntryModule("%a = f32[8] parameter(0)\n%n = s32[] parameter(1)\n"
                                   "ROOT %x = f32[8] set-dimension-size(%a, %n), dimensions={0}"));
  EXPECT_EQ(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

constexpr char kUpdatingFusion[] =
    "%f (p: f32[1], q: f32[8], r: s32[]) -> f32[8] {\n%p = f32[1] parameter(0)\n"
    "%q = f32[8] parameter(1)\n%r = s32[] parameter(2)\n%b = f32[8] bitcast(%q)\n"
    "%d = f32[8] dynamic-update-slice(%b, %p, %r)\nROOT %e = f32[8] bitcast(%d)\n}\n";

TEST(InPlace, AFusionThatEndsInAnUpdateUpdatesItsOperand) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%u = f32[1] parameter(1)\n%i = s32[] parameter(2)\n"
      "ROOT %x = f32[8] fusion(%u, %a, %i), kind=kLoop, calls=%f",
      kUpdatingFusion));
  EXPECT_EQ(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

// A fusion %x of %a, %u and %i, whose computation has the parameters %p, %q and %r and these lines.
// It may call kUpdatingFusion as %f.
std::unique_ptr<AnalyzedModule> FusionOf(absl::string_view lines) {
  return MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%u = f32[1] parameter(1)\n%i = s32[] parameter(2)\n"
      "ROOT %x = f32[8] fusion(%a, %u, %i), kind=kLoop, calls=%g",
      absl::StrCat(kUpdatingFusion,
                   "%g (p: f32[8], q: f32[1], r: s32[]) -> f32[8] {\n%p = f32[8] parameter(0)\n"
                   "%q = f32[1] parameter(1)\n%r = s32[] parameter(2)\n",
                   lines, "}\n")));
}

TEST(InPlace, AFusionOfAFusionThatEndsInAnUpdateUpdatesItsOperand) {
  const auto m = FusionOf("ROOT %y = f32[8] fusion(%q, %p, %r), kind=kLoop, calls=%f\n");
  EXPECT_EQ(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

TEST(InPlace, ATupleRootedFusionUpdatesInPlaceByElement) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%u = f32[1] parameter(1)\n%i = s32[] parameter(2)\n"
      "ROOT %x = (f32[1], f32[8]) fusion(%a, %u, %i), kind=kLoop, calls=%f",
      "%f (p: f32[8], q: f32[1], r: s32[]) -> (f32[1], f32[8]) {\n%p = f32[8] parameter(0)\n"
      "%q = f32[1] parameter(1)\n%r = s32[] parameter(2)\n%n = f32[1] negate(%q)\n"
      "%d = f32[8] dynamic-update-slice(%p, %n, %r)\n"
      "ROOT %t = (f32[1], f32[8]) tuple(%n, %d)\n}\n"));
  EXPECT_NE(StoragesOf(*m, "x")[0], StoragesOf(*m, "u")[0]);
  EXPECT_EQ(StoragesOf(*m, "x")[1], StoragesOf(*m, "a")[0]);
}

TEST(InPlace, AnUpdateInTheMiddleOfAFusionIsNotInPlace) {
  const auto m =
      FusionOf("%d = f32[8] dynamic-update-slice(%p, %q, %r)\nROOT %n = f32[8] negate(%d)\n");
  EXPECT_NE(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

TEST(InPlace, AnUpdateOfAnUpdateIsNotInPlace) {
  const auto m = FusionOf(
      "%d = f32[8] dynamic-update-slice(%p, %q, %r)\n"
      "ROOT %e = f32[8] dynamic-update-slice(%d, %q, %r)\n");
  EXPECT_NE(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

TEST(InPlace, AnUpdateOfAFusionThatEndsInAnUpdateIsInPlace) {
  const auto m = FusionOf(
      "%y = f32[8] fusion(%q, %p, %r), kind=kLoop, calls=%f\n"
      "ROOT %z = f32[8] dynamic-update-slice(%y, %q, %r)\n");
  EXPECT_EQ(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

// A fusion of a scatter into %a and %b, whose computation ends in these lines.
std::unique_ptr<AnalyzedModule> ScatterOfTwo(const std::string& results, const std::string& lines) {
  return MustAnalyze(hlo::EntryModule(
      absl::StrCat("%a = f32[8] parameter(0)\n%b = f32[9] parameter(1)\n%k = s32[1] parameter(2)\n"
                   "%u = f32[1] parameter(3)\nROOT %x = ",
                   results, " fusion(%a, %b, %k, %u), kind=kLoop, calls=%f"),
      absl::StrCat("%c (c0: f32[], c1: f32[], c2: f32[], c3: f32[]) -> (f32[], f32[]) {\n"
                   "%c0 = f32[] parameter(0)\n%c1 = f32[] parameter(1)\n"
                   "%c2 = f32[] parameter(2)\n%c3 = f32[] parameter(3)\n"
                   "ROOT %c4 = (f32[], f32[]) tuple(%c2, %c3)\n}\n"
                   "%f (p: f32[8], q: f32[9], r: s32[1], s: f32[1]) -> ",
                   results,
                   " {\n%p = f32[8] parameter(0)\n%q = f32[9] parameter(1)\n"
                   "%r = s32[1] parameter(2)\n%s = f32[1] parameter(3)\n",
                   lines, "\n}\n")));
}

TEST(InPlace, AFusionThatEndsInAScatterUpdatesAllItsInputs) {
  const auto m = ScatterOfTwo(
      "(f32[8], f32[9])", "ROOT %d = (f32[8], f32[9]) scatter(%p, %q, %r, %s, %s), to_apply=%c");
  EXPECT_EQ(StoragesOf(*m, "x")[0], StoragesOf(*m, "a")[0]);
  EXPECT_EQ(StoragesOf(*m, "x")[1], StoragesOf(*m, "b")[0]);
}

TEST(InPlace, AFusionThatEndsInElementsOfAScatterUpdatesTheirInputs) {
  const auto m = ScatterOfTwo("(f32[9], f32[8])",
                              "%d = (f32[8], f32[9]) scatter(%p, %q, %r, %s, %s), to_apply=%c\n"
                              "%d0 = f32[8] get-tuple-element(%d), index=0\n"
                              "%d1 = f32[9] get-tuple-element(%d), index=1\n"
                              "%n = f32[9] bitcast(%d1)\n"
                              "ROOT %t = (f32[9], f32[8]) tuple(%n, %d0)");
  EXPECT_EQ(StoragesOf(*m, "x")[0], StoragesOf(*m, "b")[0]);
  EXPECT_EQ(StoragesOf(*m, "x")[1], StoragesOf(*m, "a")[0]);
}

TEST(InPlace, ACustomCallSharesWhatItSaysItShares) {
  const auto m = MustAnalyze(
      hlo::EntryModule("%a = f32[8] parameter(0)\n%b = f32[4] parameter(1)\n"
                       "ROOT %x = (f32[4], f32[8]) custom-call(%a, %b), custom_call_target=\"f\", "
                       "output_to_operand_aliasing={{1}: (0, {})}"));
  EXPECT_EQ(StoragesOf(*m, "x")[1], StoragesOf(*m, "a")[0]);
  EXPECT_NE(StoragesOf(*m, "x")[0], StoragesOf(*m, "b")[0]);
}

}  // namespace
}  // namespace mallocmuzero
