#include "simulator/import/analysis/price_module.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/hardware.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::Cycles;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MustAnalyze;
using testing::SmallHardware;

// HBM moves 10 bytes a cycle. An f32[100] has 400 bytes and takes 40 cycles.
ModulePrice PriceText(const std::string& text) {
  return PriceSchedule(*MustAnalyze(text), SmallHardware());
}

// A module with %a in HBM and %f in fast memory, followed by `lines`.
std::string Lines(const std::string& lines) {
  return hlo::EntryModule(
      absl::StrCat("%a = f32[100] parameter(0)\n%f = f32[100]{0:S(3)} parameter(1)\n", lines));
}

const char kCopyStart[] = "%s = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a)\n";
const char kCopyDone[] = "%d = f32[100]{0:S(3)} copy-done(%s)\n";

// An instruction that accesses only fast memory.
std::string Compute(int cycles) {
  return absl::StrCat("%c = f32[100]{0:S(3)} negate(%f)", Cycles(cycles), "\n");
}

const char kEnd[] = "ROOT %z = f32[100]{0:S(3)} bitcast(%d)";

TEST(PriceModule, ACopyThatIsNeededAtOnceStallsForAllOfIt) {
  const ModulePrice price = PriceText(Lines(absl::StrCat(kCopyStart, kCopyDone, kEnd)));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 40);
  EXPECT_EQ(price.copies, 1);
  EXPECT_DOUBLE_EQ(price.total_cycles(), 40);
}

TEST(PriceModule, ComputationHidesACopy) {
  EXPECT_DOUBLE_EQ(
      PriceText(Lines(absl::StrCat(kCopyStart, Compute(100), kCopyDone, kEnd))).stall_cycles, 0);
  // The instruction hides 15 of the copy's 40 cycles.
  const ModulePrice partly =
      PriceText(Lines(absl::StrCat(kCopyStart, Compute(15), kCopyDone, kEnd)));
  EXPECT_DOUBLE_EQ(partly.stall_cycles, 25);
  EXPECT_DOUBLE_EQ(partly.estimated_cycles, 15);
  EXPECT_DOUBLE_EQ(partly.total_cycles(), 40);
}

TEST(PriceModule, ComputationBeforeTheStartHidesNothing) {
  EXPECT_DOUBLE_EQ(
      PriceText(Lines(absl::StrCat(Compute(100), kCopyStart, kCopyDone, kEnd))).stall_cycles, 40);
}

TEST(PriceModule, AnInstructionThatNeedsTheWholeBandwidthHidesNothing) {
  // The instruction reads and writes 800 bytes of HBM in 80 cycles.
  const std::string bound = absl::StrCat("%b = f32[100] negate(%a)", Cycles(80), "\n");
  const ModulePrice price = PriceText(Lines(absl::StrCat(kCopyStart, bound, kCopyDone, kEnd)));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 40);
  EXPECT_DOUBLE_EQ(price.hbm_bytes, 800);
  // In 100 cycles it leaves 200 bytes, which hide 20 cycles of the copy.
  const std::string slower = absl::StrCat("%b = f32[100] negate(%a)", Cycles(100), "\n");
  EXPECT_DOUBLE_EQ(PriceText(Lines(absl::StrCat(kCopyStart, slower, kCopyDone, kEnd))).stall_cycles,
                   20);
}

TEST(PriceModule, SlicesOfACopyAreQueuedOneByOne) {
  // Two slices of 200 bytes. 30 cycles hide the first slice and half of the second, which is queued
  // before them.
  const ModulePrice price = PriceText(Lines(absl::StrCat(
      "%s0 = ((f32[100]), f32[50]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[0:50]}\n"
      "%s1 = ((f32[100]), f32[50]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[50:100]}\n",
      Compute(30),
      "%d0 = f32[50]{0:S(3)} slice-done(%s0)\n%d1 = f32[50]{0:S(3)} slice-done(%s1)\n"
      "ROOT %x = f32[100]{0:S(3)} custom-call(%d0, %d1), custom_call_target=\"ConcatBitcast\"")));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 10);
  EXPECT_EQ(price.copies, 1);                  // as in the mapping that stands for it
  EXPECT_DOUBLE_EQ(price.modelled_cycles, 0);  // joining the pieces costs nothing
}

TEST(PriceModule, TheCrossProgramPrefetchIsFree) {
  const ModulePrice price = PriceText(
      Lines(absl::StrCat("%s = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a), "
                         "cross_program_prefetch_index=0\n",
                         kCopyDone, kEnd)));
  EXPECT_DOUBLE_EQ(price.total_cycles(), 0);
  EXPECT_EQ(price.copies, 0);
}

TEST(PriceModule, CopiesInAndOutShareTheBandwidth) {
  const std::string both =
      absl::StrCat(kCopyStart, "%o = (f32[100], f32[100]{0:S(3)}, u32[]{:S(2)}) copy-start(%f)\n");
  // While the program waits for one copy, the other takes half of the bandwidth. After 80 cycles
  // both are done.
  const ModulePrice equal =
      PriceText(Lines(absl::StrCat(both, kCopyDone, "ROOT %e = f32[100] copy-done(%o)")));
  EXPECT_DOUBLE_EQ(equal.stall_cycles, 80);
  EXPECT_EQ(equal.copies, 2);
  // 20 cycles of computation move 100 bytes in each direction; 300 bytes remain in each.
  EXPECT_DOUBLE_EQ(PriceText(Lines(absl::StrCat(both, Compute(20), kCopyDone,
                                                "ROOT %e = f32[100] copy-done(%o)")))
                       .stall_cycles,
                   60);
}

TEST(PriceModule, CopiesOfOneDirectionQueueUp) {
  // The second copy waits for the first.
  const ModulePrice price = PriceText(
      Lines(absl::StrCat(kCopyStart,
                         "%s2 = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a)\n"
                         "%d2 = f32[100]{0:S(3)} copy-done(%s2)\n",
                         kCopyDone, kEnd)));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 80);
}

TEST(PriceModule, ACopyWithinHbmTakesNoQueue) {
  const ModulePrice price =
      PriceText(Lines("%s = (f32[100], f32[100], u32[]{:S(2)}) copy-start(%a)\n"
                      "ROOT %d = f32[100] copy-done(%s)"));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 0);
  EXPECT_EQ(price.copies, 0);
}

TEST(PriceModule, LoopsMultiplyCyclesStallsAndBytes) {
  // f32[8] has 32 bytes: a stall of 3.2 cycles in each of 5 passes.
  const ModulePrice price = PriceText(testing::LoopModule(
      5, absl::StrCat("%s = (f32[8]{0:S(3)}, f32[8], u32[]{:S(2)}) copy-start(%x)\n"
                      "%d = f32[8]{0:S(3)} copy-done(%s)\n%state = f32[8] negate(%d)",
                      Cycles(7))));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 5 * 3.2);
  EXPECT_DOUBLE_EQ(price.estimated_cycles, 5 * 7);
}

TEST(PriceModule, WithoutAnEstimateTheRooflineRules) {
  // Reads 800 bytes of fast memory at 100 bytes a cycle, and writes 400 bytes of HBM at 10: 48
  // cycles.
  const ModulePrice memory = PriceText(Lines("ROOT %x = f32[100] add(%f, %f)"));
  EXPECT_DOUBLE_EQ(memory.modelled_cycles, 48);
  EXPECT_DOUBLE_EQ(memory.bytes_accessed, 1200);
  EXPECT_DOUBLE_EQ(memory.hbm_bytes, 400);
  // 2 x 100^3 flops at 1000 a cycle take 2000 cycles. Memory takes 80 000 / 100 + 40 000 / 50 =
  // 1600.
  const ModulePrice compute = PriceText(hlo::EntryModule(
      "%a = f32[100,100]{1,0:S(3)} parameter(0)\nROOT %x = f32[100,100]{1,0:S(3)} dot(%a, %a), "
      "lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  EXPECT_DOUBLE_EQ(compute.modelled_cycles, 2000);
}

TEST(PriceModule, TrafficBeyondMeasureIsRefusedWithItsLine) {
  // Three operands of 2^49 bytes each, and one output.
  EXPECT_EQ(testing::AnalysisError(hlo::EntryModule(
                "%a = pred[562949953421312] parameter(0)\n"
                "ROOT %x = pred[] custom-call(%a, %a, %a), custom_call_target=\"f\"")),
            "test.hlo:5:1: %x: expected at most 2^50 bytes read and written, found "
            "1688849860263937");
  // 2 x 2^20 x 2^20 x 2^25 flops.
  EXPECT_EQ(testing::AnalysisError(hlo::EntryModule(
                "%a = s8[1048576,33554432] parameter(0)\n%b = s8[33554432,1048576] parameter(1)\n"
                "ROOT %x = s8[1048576,1048576] dot(%a, %b), lhs_contracting_dims={1}, "
                "rhs_contracting_dims={0}")),
            "test.hlo:6:1: %x: expected at most 2^53 floating-point operations, found 7.3787e+19");
}

TEST(PriceModule, AnUpdateOfAnAsynchronousOperationWaitsForNothing) {
  // All 40 cycles of the copy are hidden between the update and the done.
  const ModulePrice price = PriceText(Lines(absl::StrCat(
      "%s = ((f32[100]), f32[100]{0:S(3)}, u32[]{:S(2)}) slice-start(%a), slice={[0:100]}\n"
      "%u = ((f32[100]), f32[100]{0:S(3)}, u32[]{:S(2)}) async-update(%s)\n",
      Compute(100), "%d = f32[100]{0:S(3)} slice-done(%u)\n", kEnd)));
  EXPECT_DOUBLE_EQ(price.stall_cycles, 0);
  EXPECT_EQ(price.copies, 1);
}

// The links work for 25 cycles on the first all-gather: half of 800 bytes, 16 a cycle. The groups
// of the second one have one device each, which exchanges nothing and so waits for nothing.
TEST(PriceModule, ACollectiveOfOneDeviceDoesNotWaitForTheOneInFlight) {
  v1::Hardware hardware = SmallHardware();
  hardware.set_link_bytes_per_cycle(16);
  const auto price = [&](int cycles) {
    return PriceSchedule(
        *MustAnalyze(Lines(absl::StrCat(
            "%s = (f32[100], f32[200]) all-gather-start(%a), replica_groups={{0,1}}, "
            "dimensions={0}\n"
            "%t = (f32[100], f32[100]) all-gather-start(%a), replica_groups={{0},{1}}, "
            "dimensions={0}\n"
            "%u = f32[100] all-gather-done(%t)\n",
            Compute(cycles), "ROOT %d = f32[200] all-gather-done(%s)"))),
        hardware);
  };
  EXPECT_DOUBLE_EQ(price(100).stall_cycles, 0);
  EXPECT_DOUBLE_EQ(price(15).stall_cycles, 10);
  EXPECT_DOUBLE_EQ(price(15).collective_cycles, 10);
}

TEST(PriceModule, ReportsAFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/price_module_test.hlo.zst");
  ASSERT_TRUE(
      WriteFileAtomically(path, Lines(absl::StrCat(kCopyStart, Compute(15), kCopyDone, kEnd)))
          .ok());
  const auto report = PriceModule(path, SmallHardware());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->name(), "m");
  EXPECT_DOUBLE_EQ(report->total_cycles(), 40);
  EXPECT_DOUBLE_EQ(report->stall_cycles(), 25);
  EXPECT_DOUBLE_EQ(report->seconds(), 40e-9);
  EXPECT_DOUBLE_EQ(report->hbm_share(), 0);
  EXPECT_EQ(report->copies(), 1);
  EXPECT_EQ(report->instructions(), 1);
}

TEST(PriceModule, ListsTheCostliestInstructionsFirst) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/costliest.hlo");
  // An f32[8] has 32 bytes. %y reads one of HBM and writes one of fast memory.
  const std::string loop =
      testing::LoopModule(5, absl::StrCat("%y = f32[8]{0:S(3)} negate(%x)", Cycles(9),
                                          "\n%state = f32[8] negate(%y)", Cycles(7)));
  ASSERT_TRUE(WriteFileAtomically(path, loop).ok());
  const auto report = PriceModule(path, SmallHardware(), 2);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->costliest_size(), 2);
  const auto& first = report->costliest(0);
  EXPECT_EQ(first.name(), "y");
  EXPECT_EQ(first.opcode(), "negate");
  EXPECT_EQ(first.executions(), 5);
  EXPECT_DOUBLE_EQ(first.cycles(), 5 * 9);
  EXPECT_DOUBLE_EQ(first.bytes_accessed(), 5 * (32 + 32));
  EXPECT_DOUBLE_EQ(first.hbm_share(), 0.5);
  EXPECT_FALSE(first.has_accesses());
  EXPECT_EQ(report->costliest(1).name(), "state");
  EXPECT_DOUBLE_EQ(report->costliest(1).cycles(), 5 * 7);
  EXPECT_TRUE(PriceModule(path, SmallHardware())->costliest().empty());
}

TEST(PriceModule, NotesArraysInTheFastMemoryOfOtherChips) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/other_chip.hlo");
  ASSERT_TRUE(WriteFileAtomically(path, Lines(Compute(5) + "ROOT %x = f32[100] copy(%c)")).ok());
  EXPECT_THAT(PriceModule(path, *LoadHardware("tpu_v4i"))->notes(), IsEmpty());
  EXPECT_THAT(
      PriceModule(path, *LoadHardware("tpu_v6e"))->notes(),
      ElementsAre("2 arrays are in memory space 3, the fast memory of tpu_v4, tpu_v4i; that "
                  "of tpu_v6e is 1; was the module compiled for another chip?"));
}

TEST(PriceModule, NotesThatThereAreNoEstimates) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/no_estimates.hlo");
  ASSERT_TRUE(WriteFileAtomically(path, Lines("ROOT %x = f32[100] negate(%a)")).ok());
  EXPECT_THAT(PriceModule(path, *LoadHardware("tpu_v4i"))->notes(),
              ElementsAre(HasSubstr("no instruction has the compiler's estimate")));
}

TEST(PriceModule, NamesTheFileItCannotRead) {
  const std::string missing = absl::StrCat(::testing::TempDir(), "/no_such_file.hlo");
  EXPECT_EQ(PriceModule(missing, SmallHardware()).status().code(), absl::StatusCode::kNotFound);
  const std::string path = absl::StrCat(::testing::TempDir(), "/bad_module.hlo");
  ASSERT_TRUE(WriteFileAtomically(path, "HloModule m\n\nENTRY x").ok());
  EXPECT_THAT(std::string(PriceModule(path, SmallHardware()).status().message()),
              HasSubstr("bad_module.hlo:3:"));
}

TEST(PriceModule, MessageCostsWhatItsTextCosts) {
  const std::string path = MALLOCMUZERO_SOURCE_DIR "/tests/data/hlo_proto/lstm";
  const absl::StatusOr<v1::PriceReport> text = PriceModule(path + ".hlo.zst", SmallHardware());
  const absl::StatusOr<v1::PriceReport> message = PriceModule(path + ".pb.zst", SmallHardware());
  ASSERT_TRUE(text.ok()) << text.status();
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_GT(text->total_cycles(), 0);
  EXPECT_EQ(message->SerializeAsString(), text->SerializeAsString());
}

}  // namespace
}  // namespace mallocmuzero
