#include "simulator/import/analysis/traffic.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

// Traffic of the root of an ENTRY computation that consists of these lines.
ArrayTraffic RootTraffic(const std::string& body, const std::string& callees = "") {
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(body, callees));
  const hlo::Computation& entry = module.Entry();
  return CountTraffic(module, entry, entry.instructions[entry.root]);
}

double RootFlops(const std::string& body, const std::string& callees = "") {
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(body, callees));
  const hlo::Computation& entry = module.Entry();
  return CountFlops(module, entry, entry.instructions[entry.root]);
}

TEST(Traffic, ElementwiseReadsAndWritesEverythingOnceForEachOperand) {
  const ArrayTraffic traffic =
      RootTraffic("%a = f32[64] parameter(0)\nROOT %x = f32[64] add(%a, %a)");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(256), ElementsAre(256)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(256));
  EXPECT_EQ(traffic.pointer_bytes, 0);
}

TEST(Traffic, TilesCount) {
  // 3 x 100 elements in tiles of 8 x 128 take the space of 1024 elements of 2 bytes.
  const ArrayTraffic traffic = RootTraffic(
      "%a = bf16[3,100]{1,0:T(8,128)(2,1)} parameter(0)\nROOT %x = f32[3,100] convert(%a)");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(2048)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(1200));
}

TEST(Traffic, ASliceReadsWhatItCutsOut) {
  const ArrayTraffic traffic =
      RootTraffic("%a = f32[1024] parameter(0)\nROOT %x = f32[16] slice(%a), slice={[0:16]}");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(64)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(64));
}

TEST(Traffic, ADynamicSliceReadsTheSliceAndItsIndex) {
  const ArrayTraffic traffic = RootTraffic(
      "%a = f32[1024] parameter(0)\n%i = s32[] parameter(1)\n"
      "ROOT %x = f32[16] dynamic-slice(%a, %i), dynamic_slice_sizes={16}");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(64), ElementsAre(4)));
}

TEST(Traffic, ADynamicUpdateSliceMovesTheUpdateOnly) {
  // 7 x 2048 x 1024 x 2 bytes = 28 MiB, of which the update changes 1024 x 2 bytes = 2 KiB.
  const ArrayTraffic traffic = RootTraffic(
      "%a = bf16[7,2048,1024] parameter(0)\n%u = bf16[1,1,1024] parameter(1)\n"
      "%i = s32[] parameter(2)\n"
      "ROOT %x = bf16[7,2048,1024] dynamic-update-slice(%a, %u, %i, %i, %i)");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(0), ElementsAre(2048), ElementsAre(4),
                                                 ElementsAre(4), ElementsAre(4)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(2048));
}

TEST(Traffic, AnUpdateThatIsNoArrayHasBytesForEachOfItsArrays) {
  const ArrayTraffic traffic = RootTraffic(
      "%a = f32[8] parameter(0)\n%i = s32[] parameter(1)\n"
      "ROOT %x = (f32[8], f32[4]) dynamic-update-slice(%a, %a, %i)");
  EXPECT_THAT(traffic.output_bytes, ElementsAre(32, 16));
}

TEST(Traffic, AGatherReadsWhatItGathers) {
  const ArrayTraffic traffic = RootTraffic(
      "%a = f32[1000,8] parameter(0)\n%i = s32[5] parameter(1)\n"
      "ROOT %x = f32[5,8] gather(%a, %i), offset_dims={1}");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(160), ElementsAre(20)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(160));
}

TEST(Traffic, AScatterReadsAndWritesAsMuchAsItUpdates) {
  const ArrayTraffic traffic = RootTraffic(
      "%a = f32[1000,8] parameter(0)\n%i = s32[5] parameter(1)\n%u = f32[5,8] parameter(2)\n"
      "ROOT %x = f32[1000,8] scatter(%a, %i, %u), to_apply=%f",
      "%f (p: f32[], q: f32[]) -> f32[] {\n%p = f32[] parameter(0)\n"
      "ROOT %q = f32[] parameter(1)\n}\n");
  EXPECT_THAT(traffic.operand_bytes,
              ElementsAre(ElementsAre(160), ElementsAre(20), ElementsAre(160)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(160));
}

// Traffic of a fusion from f32[1024], s32[] to `root_shape`. Its computation consists of these
// lines, with the operands %p and %i.
ArrayTraffic FusionTraffic(const std::string& root_shape, const std::string& lines) {
  return RootTraffic(
      absl::StrCat("%a = f32[1024] parameter(0)\n%b = s32[] parameter(1)\nROOT %x = ", root_shape,
                   " fusion(%a, %b), kind=kLoop, calls=%f"),
      absl::StrCat("%f (p: f32[1024], i: s32[]) -> ", root_shape,
                   " {\n%p = f32[1024] parameter(0)\n%i = s32[] parameter(1)\n", lines, "\n}\n"));
}

TEST(FusionTraffic, AParameterThatIsOnlySlicedCountsItsSlices) {
  const ArrayTraffic traffic =
      FusionTraffic("f32[16]",
                    "%s = f32[16] slice(%p), slice={[0:16]}\n"
                    "%d = f32[16] dynamic-slice(%p, %i), dynamic_slice_sizes={16}\n"
                    "ROOT %r = f32[16] add(%s, %d)");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(128), ElementsAre(4)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(64));
}

TEST(FusionTraffic, AParameterIsNeverReadMoreThanOnce) {
  const ArrayTraffic traffic = FusionTraffic(
      "f32[1024]",
      "%s = f32[1024] add(%p, %p)\n%d = f32[16] dynamic-slice(%p, %i), dynamic_slice_sizes={16}\n"
      "%b = f32[1024] broadcast(%d), dimensions={0}\nROOT %r = f32[1024] add(%s, %b)");
  EXPECT_THAT(traffic.operand_bytes[0], ElementsAre(4096));
}

TEST(FusionTraffic, AParameterThatIsOnlySlicedThroughABitcastCountsItsSlices) {
  const ArrayTraffic traffic =
      FusionTraffic("f32[1,16]",
                    "%v = f32[8,128] bitcast(%p)\n"
                    "ROOT %d = f32[1,16] dynamic-slice(%v, %i, %i), dynamic_slice_sizes={1,16}");
  EXPECT_THAT(traffic.operand_bytes[0], ElementsAre(64));
}

TEST(FusionTraffic, AParameterThatNobodyUsesCostsNothing) {
  const ArrayTraffic traffic = FusionTraffic("s32[]", "ROOT %r = s32[] negate(%i)");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(0), ElementsAre(4)));
}

TEST(FusionTraffic, AFusionThatEndsInAnUpdateWritesTheUpdate) {
  const ArrayTraffic traffic = FusionTraffic(
      "f32[1024]",
      "%c = f32[16] broadcast(%i), dimensions={}\n%d = f32[1024] dynamic-update-slice(%p, %c, %i)\n"
      "ROOT %r = f32[1024] bitcast(%d)");
  EXPECT_THAT(traffic.operand_bytes[0], ElementsAre(0));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(64));
}

TEST(FusionTraffic, ATupleRootCountsByElement) {
  const ArrayTraffic traffic = FusionTraffic(
      "(f32[1024], f32[16])",
      "%c = f32[16] broadcast(%i), dimensions={}\n%d = f32[1024] dynamic-update-slice(%p, %c, %i)\n"
      "ROOT %r = (f32[1024], f32[16]) tuple(%d, %c)");
  EXPECT_THAT(traffic.output_bytes, ElementsAre(64, 64));
}

// Traffic of a fusion of a scatter of 5 rows into f32[1000,8] and f32[1000,4]. Its computation ends
// in these lines.
ArrayTraffic ScatterTraffic(const std::string& results, const std::string& lines) {
  return RootTraffic(
      absl::StrCat("%a = f32[1000,8] parameter(0)\n%b = f32[1000,4] parameter(1)\n"
                   "%k = s32[5] parameter(2)\n%v = f32[5,8] parameter(3)\n"
                   "%w = f32[5,4] parameter(4)\nROOT %x = ",
                   results, " fusion(%a, %b, %k, %v, %w), kind=kLoop, calls=%f"),
      absl::StrCat("%c (c0: f32[], c1: f32[], c2: f32[], c3: f32[]) -> (f32[], f32[]) {\n"
                   "%c0 = f32[] parameter(0)\n%c1 = f32[] parameter(1)\n"
                   "%c2 = f32[] parameter(2)\n%c3 = f32[] parameter(3)\n"
                   "ROOT %c4 = (f32[], f32[]) tuple(%c2, %c3)\n}\n"
                   "%f (p: f32[1000,8], q: f32[1000,4], r: s32[5], s: f32[5,8], t: f32[5,4]) -> ",
                   results,
                   " {\n%p = f32[1000,8] parameter(0)\n%q = f32[1000,4] parameter(1)\n"
                   "%r = s32[5] parameter(2)\n%s = f32[5,8] parameter(3)\n"
                   "%t = f32[5,4] parameter(4)\n",
                   lines, "\n}\n"));
}

TEST(FusionTraffic, AScatterOfSeveralArraysCountsTheUpdatesOfEach) {
  // 5 rows of 8 floats are 160 bytes, 5 rows of 4 floats are 80 bytes.
  const ArrayTraffic traffic = ScatterTraffic(
      "(f32[1000,8], f32[1000,4])",
      "ROOT %d = (f32[1000,8], f32[1000,4]) scatter(%p, %q, %r, %s, %t), to_apply=%c");
  EXPECT_THAT(traffic.operand_bytes, ElementsAre(ElementsAre(160), ElementsAre(80), ElementsAre(20),
                                                 ElementsAre(160), ElementsAre(80)));
  EXPECT_THAT(traffic.output_bytes, ElementsAre(160, 80));
}

TEST(FusionTraffic, AnElementOfAScatterCountsItsUpdates) {
  const ArrayTraffic traffic =
      ScatterTraffic("(f32[1000,4], f32[1000,8])",
                     "%d = (f32[1000,8], f32[1000,4]) scatter(%p, %q, %r, %s, %t), to_apply=%c\n"
                     "%d0 = f32[1000,8] get-tuple-element(%d), index=0\n"
                     "%d1 = f32[1000,4] get-tuple-element(%d), index=1\n"
                     "ROOT %e = (f32[1000,4], f32[1000,8]) tuple(%d1, %d0)");
  EXPECT_THAT(traffic.output_bytes, ElementsAre(80, 160));
}

TEST(Traffic, ATupleWritesItsTableOfPointers) {
  // Two tables of two pointers of 8 bytes.
  const ArrayTraffic traffic = RootTraffic(
      "%a = f32[64] parameter(0)\n%t = (f32[64], f32[64]) tuple(%a, %a)\n"
      "ROOT %x = (f32[64], (f32[64], f32[64])) tuple(%a, %t)");
  EXPECT_EQ(traffic.pointer_bytes, 32);
  EXPECT_THAT(traffic.output_bytes, ElementsAre(0, 0, 0));
}

TEST(Traffic, ForwardingAndAsynchronousInstructionsMoveNothing) {
  for (const char* line :
       {"ROOT %x = f32[64] bitcast(%a)", "ROOT %x = f32[64] get-tuple-element(%t), index=0",
        "ROOT %x = (f32[64]{0:S(3)}, f32[64], u32[]) copy-start(%a)"}) {
    const ArrayTraffic traffic =
        RootTraffic(absl::StrCat("%a = f32[64] parameter(0)\n%t = (f32[64]) tuple(%a)\n", line));
    for (const auto& bytes : traffic.operand_bytes) EXPECT_THAT(bytes, ::testing::Each(0)) << line;
    EXPECT_THAT(traffic.output_bytes, ::testing::Each(0)) << line;
  }
}

// Computations %f1 to %f12 above %f0. Each calls the next one ten times: without a bound, a walk
// would visit 10^12 instructions.
std::string MultiplyingFusions(const std::string& lines_of_f0) {
  std::string callees =
      absl::StrCat("%f0 (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\n", lines_of_f0, "\n}\n");
  for (int level = 1; level <= 12; ++level) {
    absl::StrAppend(&callees, "%f", level, " (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\n");
    for (int call = 0; call < 10; ++call) {
      absl::StrAppend(&callees, call == 9 ? "ROOT " : "", "%x", call,
                      " = f32[8] fusion(%p), kind=kLoop, calls=%f", level - 1, "\n");
    }
    callees += "}\n";
  }
  return callees;
}

constexpr char kOutermostFusion[] =
    "%a = f32[8] parameter(0)\nROOT %x = f32[8] fusion(%a), kind=kLoop, calls=%f12";

TEST(Traffic, FusionsThatMultiplyBeyondMeasureEndFast) {
  const auto m = testing::MustAnalyze(
      hlo::EntryModule(kOutermostFusion, MultiplyingFusions("ROOT %n = f32[8] negate(%p)")));
  EXPECT_THAT(m->priced[0].traffic.operand_bytes, ElementsAre(ElementsAre(32)));
  EXPECT_GE(CountFlops(m->module, m->module.Entry(), *m->priced[0].instruction), 8);
}

// A walk comes to the innermost instruction up to a million times, and its attribute has a million
// bytes.
TEST(Flops, ALongWindowInFusionsThatMultiplyIsReadOnce) {
  std::string window = "size=2";
  for (int i = 0; i < 500000; ++i) window += "x1";
  EXPECT_GE(RootFlops(kOutermostFusion,
                      absl::StrCat(MultiplyingFusions(absl::StrCat(
                                       "%z = f32[] constant(0)\nROOT %n = f32[8] reduce-window(%p, "
                                       "%z), window={",
                                       window, "}, to_apply=%g")),
                                   "%g {\n%p = f32[] parameter(0)\n%q = f32[] parameter(1)\n"
                                   "ROOT %s = f32[] add(%p, %q)\n}\n")),
            8);
}

TEST(Flops, OneForEachElementOfAnElementwiseResult) {
  EXPECT_EQ(RootFlops("%a = f32[64] parameter(0)\nROOT %x = f32[64] add(%a, %a)"), 64);
  EXPECT_EQ(RootFlops("%a = f32[64] parameter(0)\nROOT %x = f32[64] copy(%a)"), 0);
}

TEST(Flops, TwoForEachMultiplyAddOfADot) {
  // [4,8] x [8,16] takes 2 x 4 x 16 x 8 flops.
  EXPECT_EQ(RootFlops("%a = f32[4,8] parameter(0)\n%b = f32[8,16] parameter(1)\n"
                      "ROOT %x = f32[4,16] dot(%a, %b), lhs_contracting_dims={1}, "
                      "rhs_contracting_dims={0}"),
            1024);
}

double ConvolutionFlops(const std::string& window, int output) {
  return RootFlops(absl::StrCat(
      "%a = f32[1,4,3] parameter(0)\n%k = f32[3,3,2] parameter(1)\nROOT %x = f32[1,", output,
      ",2] convolution(%a, %k), window={", window, "}, dim_labels=b0f_0io->b0f"));
}

TEST(Flops, AConvolutionLeavesPaddingOut) {
  // Each tap takes 2 x 3 input features x 2 output features = 12 flops. Width 4, kernel 3:
  EXPECT_EQ(ConvolutionFlops("size=3", 2), 12 * 6);                   // 3 + 3 taps
  EXPECT_EQ(ConvolutionFlops("size=3 pad=1_1", 4), 12 * 10);          // 2 + 3 + 3 + 2
  EXPECT_EQ(ConvolutionFlops("size=3 stride=2 pad=1_1", 2), 12 * 5);  // 2 + 3
  EXPECT_EQ(ConvolutionFlops("size=3 pad=2_2 rhs_dilate=2", 4), 12 * 8);
  // The input with holes is 0 . 1 . 2 . 3: outputs 0 to 4 see 2, 1, 2, 1 and 2 elements.
  EXPECT_EQ(ConvolutionFlops("size=3 lhs_dilate=2", 5), 12 * 8);
}

TEST(Flops, GroupsOfAConvolutionMultiplyOnlyWhatIsInOneOfThem) {
  // Each of 2 outputs takes 3 taps. Each tap takes 2 flops for each input feature of a group, each
  // output feature and each batch entry of a group.
  EXPECT_EQ(RootFlops("%a = f32[1,4,6] parameter(0)\n%k = f32[3,3,2] parameter(1)\n"
                      "ROOT %x = f32[1,2,2] convolution(%a, %k), window={size=3}, "
                      "dim_labels=b0f_0io->b0f, feature_group_count=2"),
            2 * 6 * 3 * 2);
  EXPECT_EQ(RootFlops("%a = f32[4,4,3] parameter(0)\n%k = f32[3,3,2] parameter(1)\n"
                      "ROOT %x = f32[2,2,2] convolution(%a, %k), window={size=3}, "
                      "dim_labels=b0f_0io->b0f, batch_group_count=2"),
            2 * 6 * 3 * 2 * 2);
}

// The window's second and third positions lie far behind the input, although the product overflows.
// For output 0, one of 3 taps, that at input 3, is inside.
TEST(Flops, AStrideBeyondMeasureLeavesTheArray) {
  EXPECT_EQ(ConvolutionFlops("size=3 stride=9223372036854775807 pad=-3_0", 3), 12 * 1);
  EXPECT_EQ(ConvolutionFlops("size=3 rhs_dilate=9223372036854775807 pad=-3_0", 1), 12 * 1);
  EXPECT_EQ(ConvolutionFlops("size=3 pad=-9223372036854775808_0", 2), 0);
}

// A window of `dimensions` dimensions. The first dimension uses up all positions that are tried one
// by one.
std::string WindowOf(int dimensions) {
  std::string size = "size=1048576";
  for (int dimension = 1; dimension < dimensions; ++dimension) size += "x2";
  return size;
}

TEST(Flops, AWindowOfMoreDimensionsThanAShapeMayHaveIsCutOff) {
  // In the first dimension 4 taps hit the input; in the second all taps count.
  EXPECT_EQ(ConvolutionFlops(WindowOf(2), 1), 12 * 4 * 2);
  EXPECT_LT(ConvolutionFlops(WindowOf(63), 1), ConvolutionFlops(WindowOf(64), 1));
  EXPECT_EQ(ConvolutionFlops(WindowOf(100000), 1), ConvolutionFlops(WindowOf(64), 1));
}

TEST(Flops, AReductionTakesOneLessThanItsInputForEachResult) {
  EXPECT_EQ(RootFlops("%a = f32[8,8] parameter(0)\n%z = f32[] constant(0)\n"
                      "ROOT %x = f32[8] reduce(%a, %z), dimensions={1}, to_apply=%f",
                      "%f (p: f32[], q: f32[]) -> f32[] {\n%p = f32[] parameter(0)\n"
                      "%q = f32[] parameter(1)\nROOT %s = f32[] add(%p, %q)\n}\n"),
            64 - 8);
}

TEST(Flops, AReduceWindowTakesOneLessThanItsWindowForEachResult) {
  EXPECT_EQ(RootFlops("%a = f32[8,8] parameter(0)\n%z = f32[] constant(0)\n"
                      "ROOT %x = f32[4,4] reduce-window(%a, %z), window={size=2x2 stride=2x2}, "
                      "to_apply=%f",
                      "%f (p: f32[], q: f32[]) -> f32[] {\n%p = f32[] parameter(0)\n"
                      "%q = f32[] parameter(1)\nROOT %s = f32[] add(%p, %q)\n}\n"),
            16 * 3);
}

TEST(Flops, AFusionIsTheSumOfWhatItFuses) {
  EXPECT_EQ(RootFlops("%a = f32[64] parameter(0)\nROOT %x = f32[64] fusion(%a), kind=kLoop, "
                      "calls=%f",
                      "%f (p: f32[64]) -> f32[64] {\n%p = f32[64] parameter(0)\n"
                      "%n = f32[64] negate(%p)\nROOT %e = f32[64] multiply(%n, %p)\n}\n"),
            128);
}

}  // namespace
}  // namespace mallocmuzero
