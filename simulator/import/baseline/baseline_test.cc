// The intervals of a default, worked out by hand: when a value is in fast memory, and when its
// copies are queued and needed.

#include "simulator/import/baseline/baseline.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/mapping.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/matching/match.h"
#include "simulator/import/structure/assemble.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

// The buffers of the program, and its accesses: instruction 0 reads %a and writes %x. Instruction 1
// reads %x and writes %y, 2 reads %y and %a and writes %z, 3 reads %z and %x and writes %r.
constexpr uint32_t kA = 0;
constexpr uint32_t kX = 1;
constexpr char kAllHbm[] =
    "%a = f32[100]{0} parameter(0)\n%x = f32[100]{0} negate(%a)\n%y = f32[100]{0} abs(%x)\n"
    "%z = f32[100]{0} add(%y, %a)\nROOT %r = f32[100]{0} add(%z, %x)";

// The mapping of the default with these lines.
Mapping MappingOf(const std::string& lines) {
  const v1::Program program =
      Assemble(*testing::MustAnalyze(hlo::EntryModule(kAllHbm)), testing::SmallHardware()).program;
  const auto compiled = testing::MustAnalyze(hlo::EntryModule(lines));
  return MappingFromCheckedProto(
      MakeBaseline(program, *compiled, MatchModule(program, *compiled)).mapping());
}

TEST(Baseline, ACopyInIsQueuedWhereItStartsAndNeededWhereItEnds) {
  const Mapping mapping = MappingOf(
      "%a = f32[100]{0} parameter(0)\n%x = f32[100]{0} negate(%a)\n"
      "%s = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a)\n"
      "%y = f32[100]{0} abs(%x)\n%d = f32[100]{0:S(3)} copy-done(%s)\n"
      "%z = f32[100]{0} add(%y, %d)\nROOT %r = f32[100]{0} add(%z, %x)");
  EXPECT_THAT(mapping.in_fast_memory, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(mapping.intervals,
              ElementsAre(Interval{
                  .buffer = kA, .first = 1, .last = 2, .copy_in_start = 1, .copy_in_done = 2}));
}

TEST(Baseline, PiecesOfACopyInAreQueuedOneByOne) {
  const Mapping mapping = MappingOf(
      "%a = f32[100]{0} parameter(0)\n"
      "%s0 = ((f32[100]), f32[40]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[0:40]}\n"
      "%x = f32[100]{0} negate(%a)\n"
      "%s1 = ((f32[100]), f32[60]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[40:100]}\n"
      "%y = f32[100]{0} abs(%x)\n%d0 = f32[40]{0:S(3)} slice-done(%s0)\n"
      "%d1 = f32[60]{0:S(3)} slice-done(%s1)\n"
      "%c = f32[100]{0:S(3)} custom-call(%d0, %d1), custom_call_target=\"ConcatBitcast\"\n"
      "%z = f32[100]{0} add(%y, %c)\nROOT %r = f32[100]{0} add(%z, %x)");
  Interval expected = {.buffer = kA, .first = 0, .last = 2, .copy_in_start = 0, .copy_in_done = 2};
  expected.copy_in_slices = {{.start = 0, .bytes = 160}, {.start = 1, .bytes = 240}};
  EXPECT_THAT(mapping.intervals, ElementsAre(expected));
}

TEST(Baseline, ThePrefetchIsThereFromTheStart) {
  const Mapping mapping = MappingOf(
      "%a = f32[100]{0} parameter(0)\n%x = f32[100]{0} negate(%a)\n"
      "%s = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%a), "
      "cross_program_prefetch_index=0\n"
      "%y = f32[100]{0} abs(%x)\n%d = f32[100]{0:S(3)} copy-done(%s)\n"
      "%z = f32[100]{0} add(%y, %d)\nROOT %r = f32[100]{0} add(%z, %x)");
  EXPECT_THAT(mapping.in_fast_memory, ElementsAre(0, 0, 0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(
      mapping.intervals,
      ElementsAre(Interval{.buffer = kA, .first = 0, .last = 2, .cross_program_prefetch = true}));
}

TEST(Baseline, AMadeValueIsThereFromItsWriteToItsLastUse) {
  const Mapping mapping = MappingOf(
      "%a = f32[100]{0} parameter(0)\n%x = f32[100]{0:S(3)} negate(%a)\n"
      "%y = f32[100]{0} abs(%x)\n%z = f32[100]{0} add(%y, %a)\nROOT %r = f32[100]{0} add(%z, %x)");
  EXPECT_THAT(mapping.in_fast_memory, ElementsAre(0, 1, 1, 0, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(mapping.intervals, ElementsAre(Interval{.buffer = kX, .first = 0, .last = 3}));
}

TEST(Baseline, AValueThatIsCopiedOutIsThereUntilTheCopyIsDone) {
  const Mapping mapping = MappingOf(
      "%a = f32[100]{0} parameter(0)\n%x = f32[100]{0:S(3)} negate(%a)\n"
      "%s = (f32[100], f32[100]{0:S(3)}, u32[]{:S(2)}) copy-start(%x)\n"
      "%y = f32[100]{0} abs(%x)\n%z = f32[100]{0} add(%y, %a)\n"
      "%d = f32[100]{0} copy-done(%s)\nROOT %r = f32[100]{0} add(%z, %d)");
  EXPECT_THAT(mapping.in_fast_memory, ElementsAre(0, 1, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(mapping.intervals, ElementsAre(Interval{.buffer = kX,
                                                      .first = 0,
                                                      .last = 2,  // the copy is done just before 3
                                                      .copy_out_start = 1,
                                                      .copy_out_done = 3}));
}

TEST(Baseline, AValueThatComesBackHasASecondInterval) {
  const Mapping mapping = MappingOf(
      "%a = f32[100]{0} parameter(0)\n%x = f32[100]{0:S(3)} negate(%a)\n"
      "%s = (f32[100], f32[100]{0:S(3)}, u32[]{:S(2)}) copy-start(%x)\n"
      "%y = f32[100]{0} abs(%x)\n%d = f32[100]{0} copy-done(%s)\n"
      "%t = (f32[100]{0:S(3)}, f32[100], u32[]{:S(2)}) copy-start(%d)\n"
      "%z = f32[100]{0} add(%y, %a)\n%e = f32[100]{0:S(3)} copy-done(%t)\n"
      "ROOT %r = f32[100]{0} add(%z, %e)");
  EXPECT_THAT(mapping.in_fast_memory, ElementsAre(0, 1, 1, 0, 0, 0, 0, 0, 1, 0));
  EXPECT_THAT(
      mapping.intervals,
      ElementsAre(
          Interval{.buffer = kX, .first = 0, .last = 1, .copy_out_start = 1, .copy_out_done = 2},
          Interval{.buffer = kX, .first = 2, .last = 3, .copy_in_start = 2, .copy_in_done = 3}));
}

}  // namespace
}  // namespace mallocmuzero
