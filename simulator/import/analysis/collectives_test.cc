#include "simulator/import/analysis/collectives.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::Cycles;
using testing::MustAnalyze;

// The link bytes of the last instruction of an entry computation with these lines. %a has 400
// bytes, %p has 3200.
double LinkBytes(const std::string& lines, const std::string& computations = "") {
  const auto analyzed = MustAnalyze(hlo::EntryModule(
      absl::StrCat("%a = f32[100] parameter(0)\n%p = f32[800] parameter(1)\n", lines),
      computations));
  const hlo::Computation& entry = analyzed->module.Entry();
  return CountLinkBytes(analyzed->module, entry, entry.instructions[entry.root]);
}

absl::optional<int64_t> Size(const std::string& attributes) {
  const auto analyzed = MustAnalyze(hlo::EntryModule(
      absl::StrCat("%a = f32[8] parameter(0)\nROOT %r = f32[8] all-reduce(%a)", attributes)));
  const hlo::Computation& entry = analyzed->module.Entry();
  return GroupSize(entry.instructions[entry.root]);
}

TEST(Collectives, GroupsAreReadInAllForms) {
  EXPECT_EQ(Size(", replica_groups={{0,1,2,3},{4,5,6,7}}"), 4);
  EXPECT_EQ(Size(", replica_groups={{0}}"), 1);
  EXPECT_EQ(Size(", replica_groups=[2,4]<=[8]"), 4);
  EXPECT_EQ(Size(", replica_groups=[4,2]<=[2,4]T(1,0)"), 2);
  EXPECT_EQ(Size(", replica_groups=mesh['x'=2,'y'=4] {'y'}"), 4);
  EXPECT_EQ(Size(", replica_groups=mesh['x'=2,'y'=4] {'x','y'}"), 8);
  EXPECT_EQ(Size(", replica_groups=mesh['x'=8] {'x':(2)4}"), 4);
  EXPECT_EQ(Size(", replica_groups=mesh['x'=4], device_ids=(0,2,1,3) {'x'}"), 4);
}

TEST(Collectives, GroupsThatSayNoSizeHaveNone) {
  EXPECT_EQ(Size(""), absl::nullopt);
  EXPECT_EQ(Size(", replica_groups={}"), absl::nullopt);
  EXPECT_EQ(Size(", replica_groups=[2,many]<=[8]"), absl::nullopt);
  EXPECT_EQ(Size(", replica_groups=mesh['x'=2] {'z'}"), absl::nullopt);
  EXPECT_EQ(Size(", replica_groups=mesh['x'=1000000,'y'=1000000] {'x','y'}"), absl::nullopt);
}

// Time in the square of the number of axes would be minutes.
TEST(Collectives, AMeshMayHaveManyAxes) {
  std::string sizes = "'x'=4";
  std::string names = "'x'";
  for (int i = 0; i < 1 << 18; ++i) {
    absl::StrAppend(&sizes, ",'a", i, "'=1");
    absl::StrAppend(&names, ",'a", i, "'");
  }
  EXPECT_EQ(Size(absl::StrCat(", replica_groups=mesh[", sizes, "] {", names, "}")), 4);
}

// Each of ten levels of fusions calls the next one four times, so that a walk comes to the
// collective a million times. Its groups have a million bytes.
TEST(Collectives, LongGroupsInFusionsThatMultiplyAreReadOnce) {
  std::string devices = "0";
  for (int i = 1; i < 150000; ++i) absl::StrAppend(&devices, ",", i);
  std::string computations = absl::StrCat(
      "%f0 {\n%p = f32[100] parameter(0)\n"
      "ROOT %c = f32[100] collective-broadcast(%p), replica_groups={{",
      devices, "}}\n}\n");
  for (int level = 1; level <= 10; ++level) {
    absl::StrAppend(&computations, "%f", level, " {\n%p = f32[100] parameter(0)\n");
    for (int call = 0; call < 4; ++call) {
      absl::StrAppend(&computations, call == 3 ? "ROOT " : "", "%x", call,
                      " = f32[100] fusion(%p), kind=kLoop, calls=%f", level - 1, "\n");
    }
    computations += "}\n";
  }
  EXPECT_GE(LinkBytes("ROOT %r = f32[100] fusion(%a), kind=kLoop, calls=%f10", computations),
            399);  // of one broadcast
}

// Eight devices: 7/8 of the data passes each device.
TEST(Collectives, RingBytesOfEachOperation) {
  const std::string groups = ", replica_groups=[1,8]<=[8]";
  const auto bytes = [&](const std::string& text) {
    return LinkBytes(absl::StrCat("ROOT %r = ", text, groups));
  };
  EXPECT_EQ(bytes("f32[800] all-gather(%a), dimensions={0}"), 7.0 / 8 * 3200);
  EXPECT_EQ(bytes("f32[100] reduce-scatter(%p), dimensions={0}"), 7.0 / 8 * 3200);
  EXPECT_EQ(bytes("f32[800] all-reduce(%p)"), 2 * 7.0 / 8 * 3200);
  // Of 3200 bytes each device keeps one eighth, and the others pass 16 / 8 links on average.
  EXPECT_EQ(bytes("f32[800] all-to-all(%p), dimensions={0}"), 16.0 / 8 * 3200);
  EXPECT_EQ(bytes("(f32[100], f32[800]) all-reduce(%a, %p)"), 2 * 7.0 / 8 * 3600);
  EXPECT_EQ(LinkBytes("ROOT %r = f32[800] collective-permute(%p), source_target_pairs={{0,1}}"),
            2 * 3200);
}

TEST(Collectives, OnlyTheOperandThatIsSentCounts) {
  const std::string arrays =
      "%q = f32[200] parameter(2)\n%o = f32[200] parameter(3)\n%i = s32[4] parameter(4)\n"
      "%n = s32[] parameter(5)\nROOT %r = ";
  // 800 bytes, of which each of four devices passes 4 / 4.
  EXPECT_EQ(LinkBytes(arrays + "f32[200] ragged-all-to-all(%q, %o, %i, %i, %i, %i), "
                               "replica_groups={{0,1,2,3}}"),
            800);
  const std::string slices = "(%q, %o, %n, %n), source_target_pairs={{0,1}}, slice_sizes={{200}}";
  EXPECT_EQ(LinkBytes(arrays + "f32[200] collective-permute" + slices), 2 * 800);
  EXPECT_EQ(
      LinkBytes(arrays + "(f32[200], f32[200], u32[], u32[]) collective-permute-start" + slices),
      2 * 800);
  // Slices of %q and of %i: 800 + 16 bytes.
  EXPECT_EQ(LinkBytes("%q = f32[200] parameter(2)\n%o = f32[200] parameter(3)\n"
                      "%i = s32[4] parameter(4)\n%n = s32[] parameter(5)\n"
                      "%from = (f32[200], s32[4]) tuple(%q, %i)\n"
                      "%into = (f32[200], s32[4]) tuple(%o, %i)\n"
                      "%one = (s32[]) tuple(%n)\n%at = ((s32[]), (s32[])) tuple(%one, %one)\n"
                      "ROOT %r = (f32[200], s32[4]) collective-permute(%from, %into, %at, %at), "
                      "source_target_pairs={{0,1}}, slice_sizes={{200},{4}}"),
            2 * 816);
  EXPECT_EQ(LinkBytes(arrays + "(f32[200], f32[200], f32[200], f32[200]) "
                               "collective-permute(%q, %q, %q, %q), source_target_pairs={{0,1}}"),
            2 * 3200);
}

TEST(Collectives, OneDeviceMovesNothingAndUnknownGroupsMoveAll) {
  EXPECT_EQ(LinkBytes("ROOT %r = f32[800] all-reduce(%p), replica_groups={{0},{1}}"), 0);
  EXPECT_EQ(LinkBytes("ROOT %r = f32[800] all-reduce(%p)"), 2 * 3200);
  EXPECT_EQ(LinkBytes("ROOT %r = f32[800] negate(%p)"), 0);
}

// As libtpu writes a reduce-scatter of several arrays.
TEST(Collectives, AnAllReduceThatAFusionOnlySlicesIsAReduceScatter) {
  const std::string fused =
      "%scatter (x: f32[100], y: f32[800]) -> (f32[50], f32[400]) {\n"
      "%x = f32[100] parameter(0)\n%y = f32[800] parameter(1)\n%i = u32[] constant(0)\n"
      "%all = (f32[100], f32[800]) all-reduce(%x, %y), replica_groups={{0,1}}\n"
      "%g = f32[100] get-tuple-element(%all), index=0\n"
      "%h = f32[800] get-tuple-element(%all), index=1\n"
      "%u = f32[50] dynamic-slice(%g, %i), dynamic_slice_sizes={50}\n"
      "%v = f32[400] dynamic-slice(%h, %i), dynamic_slice_sizes={400}\n"
      "ROOT %t = (f32[50], f32[400]) tuple(%u, %v)\n}\n";
  const std::string call =
      "ROOT %r = (f32[50], f32[400]) fusion(%a, %p), kind=kCustom, calls=%scatter";
  EXPECT_EQ(LinkBytes(call, fused), 3600.0 / 2);
  // One of the arrays is used as a whole: all of them are reduced everywhere.
  const std::string whole =
      "%scatter (x: f32[100], y: f32[800]) -> (f32[50], f32[800]) {\n"
      "%x = f32[100] parameter(0)\n%y = f32[800] parameter(1)\n%i = u32[] constant(0)\n"
      "%all = (f32[100], f32[800]) all-reduce(%x, %y), replica_groups={{0,1}}\n"
      "%g = f32[100] get-tuple-element(%all), index=0\n"
      "%h = f32[800] get-tuple-element(%all), index=1\n"
      "%u = f32[50] dynamic-slice(%g, %i), dynamic_slice_sizes={50}\n"
      "ROOT %t = (f32[50], f32[800]) tuple(%u, %h)\n}\n";
  EXPECT_EQ(LinkBytes("ROOT %r = (f32[50], f32[800]) fusion(%a, %p), kind=kCustom, calls=%scatter",
                      whole),
            3600);
}

TEST(Collectives, AsynchronousStartsHaveTheBytesOfTheirOperation) {
  EXPECT_EQ(LinkBytes("ROOT %s = (f32[100], f32[800]) all-gather-start(%a), dimensions={0}, "
                      "replica_groups=[1,8]<=[8]"),
            7.0 / 8 * 3200);
  EXPECT_EQ(LinkBytes("ROOT %s = (f32[800], f32[800], u32[], u32[]) "
                      "collective-permute-start(%p), source_target_pairs={{0,1}}"),
            2 * 3200);
  EXPECT_EQ(LinkBytes("ROOT %s = ((f32[800]), f32[100], u32[]) reduce-scatter-start(%p), "
                      "dimensions={0}, replica_groups=[1,8]<=[8]"),
            7.0 / 8 * 3200);
}

// SmallHardware, with links that carry 20 bytes a cycle.
v1::Hardware Linked() {
  v1::Hardware hardware = testing::SmallHardware();
  hardware.set_link_bytes_per_cycle(20);
  return hardware;
}

ModulePrice PriceLines(const std::string& lines, const v1::Hardware& hardware = Linked()) {
  return PriceSchedule(
      *MustAnalyze(hlo::EntryModule(
          absl::StrCat("%a = f32[100] parameter(0)\n%f = f32[100]{0:S(3)} parameter(1)\n", lines))),
      hardware);
}

// Two devices reduce 3200 bytes: they pass 3200 bytes in 160 cycles. The memories move them faster.
TEST(Collectives, TheLinksPriceASynchronousCollective) {
  const std::string reduce = "ROOT %r = f32[800]{0:S(3)} all-reduce(%g), replica_groups={{0,1}}";
  const std::string lines = absl::StrCat("%g = f32[800]{0:S(3)} iota()", Cycles(5), "\n", reduce);
  const ModulePrice price = PriceLines(lines);
  EXPECT_EQ(price.modelled_cycles, 160);
  EXPECT_EQ(price.collective_cycles, 160);
  EXPECT_EQ(price.total_cycles(), 165);
  // Without a rate of the links, and with slow memory, the roofline of the memories is left.
  EXPECT_EQ(PriceLines(lines, testing::SmallHardware()).modelled_cycles, 3200 / 100. + 3200 / 50.);
  EXPECT_EQ(PriceLines("%g = f32[800] iota()\nROOT %r = f32[800] all-reduce(%g), "
                       "replica_groups={{0,1}}")
                .collective_cycles,
            640);
}

// A compiler's estimate is taken as it is.
TEST(Collectives, AnEstimateOfTheCompilerComesFirst) {
  const ModulePrice price = PriceLines(
      absl::StrCat("ROOT %r = f32[100] all-reduce(%a), replica_groups={{0,1}}", Cycles(7)));
  EXPECT_EQ(price.total_cycles(), 7);
  EXPECT_EQ(price.collective_cycles, 0);
}

// A permute of 400 bytes takes 2 x 400 / 20 = 40 cycles.
std::string Permute(const std::string& between) {
  return absl::StrCat(
      "%s = (f32[100], f32[100], u32[], u32[]) collective-permute-start(%a), "
      "source_target_pairs={{0,1},{1,0}}\n",
      between, "ROOT %d = f32[100] collective-permute-done(%s)");
}

std::string Compute(int cycles) {
  return absl::StrCat("%c", cycles, " = f32[100]{0:S(3)} negate(%f)", Cycles(cycles), "\n");
}

TEST(Collectives, TheDoneOfAnAsynchronousCollectiveWaitsForTheRest) {
  EXPECT_EQ(PriceLines(Permute("")).stall_cycles, 40);
  const ModulePrice partly = PriceLines(Permute(Compute(15)));
  EXPECT_EQ(partly.stall_cycles, 25);
  EXPECT_EQ(partly.collective_cycles, 25);
  EXPECT_EQ(partly.total_cycles(), 40);
  EXPECT_EQ(PriceLines(Permute(absl::StrCat(Compute(15), Compute(30)))).stall_cycles, 0);
}

// As libtpu writes collectives that a SparseCore runs for TPU7x. The start has scratch memory only;
// the update brings the operands and begins the collective. Half of 800 bytes take 20 cycles.
std::string Offloaded(const std::string& between_start_and_update, const std::string& between) {
  return hlo::EntryModule(
      absl::StrCat("%a = f32[100] parameter(0)\n%f = f32[100]{0:S(3)} parameter(1)\n"
                   "%s = ((), (), (s32[8], s32[0]{0:S(10)})) custom-call-start(), "
                   "custom_call_target=\"c\", called_computations=%gather\n",
                   between_start_and_update,
                   "%u = ((f32[100]), f32[200], (s32[8])) custom-call-update(%s, %a)\n", between,
                   "ROOT %d = f32[200] custom-call-done(%u)"),
      "%gather {\n%x = f32[100] parameter(0)\n"
      "ROOT %g = f32[200] all-gather(%x), replica_groups=mesh['x'=2] {'x'}, dimensions={0}\n}\n");
}

TEST(Collectives, OneThatASparseCoreRunsBeginsWithItsOperands) {
  const auto price = [](const std::string& before, const std::string& between) {
    return PriceSchedule(*MustAnalyze(Offloaded(before, between)), Linked());
  };
  EXPECT_EQ(price("", "").collective_cycles, 20);
  EXPECT_EQ(price("", Compute(15)).collective_cycles, 5);
  EXPECT_EQ(price("", Compute(15)).stall_cycles, 5);
  EXPECT_EQ(price("", Compute(30)).stall_cycles, 0);
  EXPECT_EQ(price(Compute(15), "").stall_cycles, 20);
}

// As libtpu writes asynchronous collectives for v5e.
TEST(Collectives, AChainOfFusionsIsOneAsynchronousCollective) {
  const std::string chain =
      "%begin (x: f32[100]) -> (f32[100], f32[200], u32[]) {\n%x = f32[100] parameter(0)\n"
      "%g = f32[200] all-gather(%x), channel_id=6, replica_groups={{0,1}}, dimensions={0}\n"
      "ROOT %k = (f32[100], f32[200], u32[]) custom-call(%g), "
      "custom_call_target=\"AsyncCollectiveStart\"\n}\n"
      "%end (y: f32[100], z: f32[200]) -> f32[200] {\n"
      "%y = f32[100] parameter(0)\n%z = f32[200] parameter(1)\n"
      "%h = f32[200] all-gather(%y), channel_id=6, replica_groups={{0,1}}, dimensions={0}\n"
      "ROOT %l = f32[200] custom-call(%y, %z, %h), "
      "custom_call_target=\"AsyncCollectiveDone\"\n}\n";
  const std::string lines = absl::StrCat(
      "%a = f32[100] parameter(0)\n%f = f32[100]{0:S(3)} parameter(1)\n"
      "%s = (f32[100], f32[200], u32[]) fusion(%a), kind=kCustom, calls=%begin, "
      "output_to_operand_aliasing={{0}: (0, {})}\n"
      "%y = f32[100] get-tuple-element(%s), index=0\n"
      "%z = f32[200] get-tuple-element(%s), index=1\n",
      Compute(15),
      "ROOT %d = f32[200] fusion(%y, %z), kind=kCustom, calls=%end, "
      "output_to_operand_aliasing={{}: (1, {})}");
  const auto analyzed = MustAnalyze(hlo::EntryModule(lines, chain));
  // Half of 800 bytes at 20 bytes a cycle take 20 cycles, and 15 of them are hidden.
  const ModulePrice price = PriceSchedule(*analyzed, Linked());
  EXPECT_EQ(price.modelled_cycles, 0);
  EXPECT_EQ(price.collective_cycles, 5);
  EXPECT_EQ(price.total_cycles(), 20);
}

TEST(Collectives, ACopyThatStallsLetsTheLinksWork) {
  // The copy takes 40 cycles. They pass at the copy's done, and the permute is done then.
  const ModulePrice price =
      PriceLines(Permute("%cs = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a)\n"
                         "%cd = f32[100]{0:S(3)} copy-done(%cs)\n"));
  EXPECT_EQ(price.stall_cycles, 40);
  EXPECT_EQ(price.collective_cycles, 0);
}

TEST(Collectives, ACopyMovesWhileTheProgramWaitsForTheLinks) {
  // The permute takes 40 cycles, and so does the copy, which is done then.
  const ModulePrice price = PriceLines(
      "%cs = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a)\n"
      "%s = (f32[100], f32[100], u32[], u32[]) collective-permute-start(%a), "
      "source_target_pairs={{0,1},{1,0}}\n"
      "%d = f32[100] collective-permute-done(%s)\n"
      "%cd = f32[100]{0:S(3)} copy-done(%cs)\n"
      "ROOT %r = f32[100] bitcast(%d)\n");
  EXPECT_EQ(price.collective_cycles, 40);
  EXPECT_EQ(price.stall_cycles, 40);
}

TEST(Collectives, AKernelTakesTheTimeOfTheFlopsThatItStates) {
  const ModulePrice price =
      PriceLines(R"(ROOT %k = f32[100] custom-call(%a), custom_call_target="tpu_custom_call", )"
                 R"(backend_config={"custom_call_config":{"body":"QUJD","cost_estimate":)"
                 R"({"flops":"500000","transcendentals":"7","bytes_accessed":"800"}}})");
  EXPECT_EQ(price.modelled_cycles, 500);  // 1000 flops a cycle; the memory takes 80 cycles
}

}  // namespace
}  // namespace mallocmuzero
