#include "simulator/place_check/check_placed.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"

#include "simulator/place_check/test_util.h"

namespace mallocmuzero::place_check {
namespace {

using testing::IsEmpty;

class RightPlacements : public testing::TestWithParam<const PlacedCase*> {};

TEST_P(RightPlacements, BreakNoRule) {
  EXPECT_THAT(Check(GetParam()->original, GetParam()->placed), IsEmpty());
}

TEST_P(RightPlacements, AreTheOriginalWhereNothingMoves) {
  EXPECT_THAT(Check(GetParam()->original, GetParam()->original), IsEmpty());
}

TEST_P(RightPlacements, MayBePlacedFurther) {
  EXPECT_THAT(Check(GetParam()->placed, GetParam()->placed), IsEmpty());
}

// Changes single numbers and names of the message to arbitrary ones: the check must answer, not
// crash.
TEST_P(RightPlacements, SurviveDamage) {
  const std::string bytes = ModuleFromText(GetParam()->placed).SerializeAsString();
  const xla::HloModuleProto original = ModuleFromText(GetParam()->original);
  const google::protobuf::LogSilencer silencer;  // protobuf logs strings that are not UTF-8
  std::mt19937 random(1);
  int parsed = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 1 + i % 3; ++k) {
      damaged[random() % damaged.size()] = random() % 128;
    }
    xla::HloModuleProto module;
    if (!module.ParseFromString(damaged)) continue;
    ++parsed;
    ExaminePlaced(original, module, TestOptions());
    ExaminePlaced(module, module, TestOptions());
  }
  EXPECT_GT(parsed, 100);
}

INSTANTIATE_TEST_SUITE_P(CheckPlaced, RightPlacements, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param->name); });

// Each loop hands on what the loop before it handed on. Time in the square of their number would be
// minutes.
TEST(CheckPlaced, FollowsAnArrayThroughManyLoopsInLinearTime) {
  constexpr int kLoops = 20'000;
  std::string computations;
  std::string entry = "entry main\n  w0 = f32[1024] parameter() number=0\n";
  for (int i = 0; i < kLoops; ++i) {
    absl::StrAppend(
        &computations, "computation b", i,
        "\n  ROOT p = f32[1024] parameter() number=0\ncomputation c", i,
        "\n  p = f32[1024] parameter() number=0\n  ROOT t = pred[] constant() value=1\n");
    absl::StrAppend(&entry, "  w", i + 1, " = f32[1024] while(w", i, ") calls=b", i, ",c", i, "\n");
  }
  const std::string text =
      absl::StrCat(computations, entry, "  ROOT r = f32[1024] negate(w", kLoops, ")\n");
  EXPECT_THAT(Check(text, text), IsEmpty());
}

TEST(CheckPlaced, CountsWhatIsLiveAtOneTime) {
  // In kChain, wd (4096 bytes) lives until f3. f1 and then f2 live beside it; both live while f2
  // runs.
  const PlacedCheck check = Examine(kChain.original, kChain.placed);
  EXPECT_EQ(check.peak_bytes, 3 * 4096);
  EXPECT_EQ(check.peak_instruction, "'f2' in 'main'");
}

TEST(CheckPlaced, CountsUpdatesAndCarriedValuesOnce) {
  EXPECT_EQ(Examine(kUpdate.original, kUpdate.placed).peak_bytes, 4096);
  // The carried value and the copy of the invariant live; nx takes over the buffer of bx.
  EXPECT_EQ(Examine(kLoop.original, kLoop.placed).peak_bytes, 2 * 4096);
}

constexpr char kUpdatedTwice[] = R"(
computation twice
  u.p0 = f32[1024] parameter() number=0
  u.p1 = f32[16] parameter() number=1
  u.p2 = s32[] parameter() number=2
  u.once = f32[1024] dynamic-update-slice(u.p0, u.p1, u.p2)
  ROOT u.dus = f32[1024] dynamic-update-slice(u.once, u.p1, u.p2)
entry main
  x = f32[1024] parameter() number=0
  y = f32[16] parameter() number=1
  i = s32[] parameter() number=2
  up = f32[1024] fusion(x, y, i) calls=twice
  ROOT after = f32[1024] add(up, x)
)";

// XLA lets the result of the fusion have a buffer of its own.
TEST(CheckPlaced, AFusionOfAnUpdateOfAnUpdateIsNotInPlace) {
  EXPECT_THAT(Check(kUpdatedTwice, kUpdatedTwice), IsEmpty());
  const std::string placed = Replaced(Replaced(kUpdatedTwice, "up = f32[1024]", "up = f32[1024]S1"),
                                      "u.dus = f32[1024]", "u.dus = f32[1024]S1");
  EXPECT_THAT(Check(kUpdatedTwice, placed), IsEmpty());
}

TEST(CheckPlaced, AFusionOfAnUpdateOfAnUpdatingFusionIsInPlace) {
  const std::string original = absl::StrCat(
      R"(
computation first
  f.p0 = f32[1024] parameter() number=0
  f.p1 = f32[16] parameter() number=1
  f.p2 = s32[] parameter() number=2
  ROOT f.dus = f32[1024] dynamic-update-slice(f.p0, f.p1, f.p2)
)",
      Replaced(kUpdatedTwice, "u.once = f32[1024] dynamic-update-slice(u.p0, u.p1, u.p2)",
               "u.once = f32[1024] fusion(u.p0, u.p1, u.p2) calls=first"));
  const std::string placed = Replaced(Replaced(original, "up = f32[1024]", "up = f32[1024]S1"),
                                      "u.dus = f32[1024]", "u.dus = f32[1024]S1");
  EXPECT_THAT(Check(original, placed), Breaks(PlacedRule::kAliasSpace));
}

// The compiler lists %up, in a loop, and %last, behind the loop, as aliasing their operands.
constexpr char kListedTwice[] = R"(
computation step
  s.p0 = f32[1024] parameter() number=0
  ROOT s.n = f32[1024] negate(s.p0)
computation body
  bp = (s32[], f32[1024]) parameter() number=0
  bi = s32[] get-tuple-element(bp) index=0
  bx = f32[1024] get-tuple-element(bp) index=1
  one = s32[] constant() value=1
  ni = s32[] add(bi, one)
  c = f32[1024] constant() value=3
  up = f32[1024] fusion(c) calls=step config={"aliasing_operands":{"lists":[{"indices":["0","1"]}]}}
  nx = f32[1024] add(bx, up)
  ROOT bt = (s32[], f32[1024]) tuple(ni, nx)
computation condition
  cp = (s32[], f32[1024]) parameter() number=0
  ci = s32[] get-tuple-element(cp) index=0
  five = s32[] constant() value=5
  ROOT less = pred[] compare(ci, five)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] parameter() number=1
  zero = s32[] constant() value=0
  count = s32[] copy(zero)
  start = f32[1024] copy(x)
  t = (s32[], f32[1024]) tuple(count, start)
  loop = (s32[], f32[1024]) while(t) calls=body,condition
  lx = f32[1024] get-tuple-element(loop) index=1
  last = f32[1024] fusion(w) calls=step config={"aliasing_operands":{"lists":[{"indices":["0","1"]}]}}
  sum = f32[1024] add(lx, last)
  ROOT r = (f32[1024], f32[1024]) tuple(last, sum)
)";

TEST(CheckPlaced, FindsWritesOverConstantsAndOverParametersThatAreNotDonated) {
  EXPECT_THAT(Check(kListedTwice, kListedTwice), IsEmpty());
  EXPECT_THAT(Check(kListedTwice,
                    Replaced(kListedTwice, "fusion(c) calls=step", "fusion(c) calls=step over=0")),
              Breaks(PlacedRule::kReadOnly));
  const std::string over_parameter =
      Replaced(kListedTwice, "fusion(w) calls=step", "fusion(w) calls=step over=0");
  EXPECT_THAT(Check(kListedTwice, over_parameter), Breaks(PlacedRule::kReadOnly));
  const std::string donated = "alias 1 0\n";
  EXPECT_THAT(Check(kListedTwice + donated, over_parameter + donated), IsEmpty());
}

TEST(CheckPlaced, FindsTwoResultsOverOneOperand) {
  const std::string original = R"(
computation step
  s.p0 = f32[1024] parameter() number=0
  s.n = f32[1024] negate(s.p0)
  s.a = f32[1024] abs(s.p0)
  ROOT s.r = (f32[1024], f32[1024]) tuple(s.n, s.a)
entry main
  x = f32[1024] parameter() number=0
  w = f32[1024] negate(x)
  up = (f32[1024], f32[1024]) fusion(w) calls=step config={"aliasing_operands":{"lists":[{"indices":["0","1","2"]}]}}
  up1 = f32[1024] get-tuple-element(up) index=1
  ROOT r = f32[1024] negate(up1)
)";
  EXPECT_THAT(Check(original, Replaced(original, "calls=step", "calls=step over=0:1")), IsEmpty());
  EXPECT_THAT(Check(original, Replaced(original, "calls=step", "calls=step over=0:0 over=0:1")),
              Breaks(PlacedRule::kAttributes));
}

TEST(CheckPlaced, FindsALoopThatBeginsWithAParameterAndChangesIt) {
  const std::string loop = Replaced(kListedTwice, "tuple(count, start)", "tuple(count, x)");
  EXPECT_THAT(Check(loop, loop), Breaks(PlacedRule::kReadOnly));
}

// A module in which these lines make %got. They may fill %into.
std::string Filling(absl::string_view lines) {
  return absl::StrCat(R"(
entry main
  x = f32[200] parameter() number=0
  i = s32[4] parameter() number=1
  n = s32[] parameter() number=2
  into = f32[200] negate(x)
)",
                      lines, "\n  ROOT r = f32[200] negate(got)\n");
}

TEST(CheckPlaced, FindsAResultApartFromTheOperandThatItOverwrites) {
  for (const absl::string_view operation :
       {"ragged-all-to-all(x, into, i, i, i, i)", "set-dimension-size(into, n)",
        "collective-permute(x, into, n, n)"}) {
    const std::string original = Filling(absl::StrCat("  got = f32[200] ", operation));
    EXPECT_THAT(Check(original, original), IsEmpty()) << operation;
    EXPECT_THAT(Check(original, Replaced(original, "got = f32[200]", "got = f32[200]S1")),
                Breaks(PlacedRule::kAliasSpace))
        << operation;
  }
}

// The compiler places each piece by itself, so that the pieces do not join to an array.
TEST(CheckPlaced, RefusesACopyInPieces) {
  const std::string original = R"(
entry main
  x = f32[8,128] parameter() number=0
  w = f32[8,128] parameter() number=1
  ROOT a = f32[8,128] add(x, w)
)";
  const std::string placed = R"(
computation low
  l.p = f32[8,128] parameter() number=0
  ROOT l.s = f32[4,128]S1 slice(l.p) slice=0:4,0:128
computation high
  h.p = f32[8,128] parameter() number=0
  ROOT h.s = f32[4,128]S1 slice(h.p) slice=4:8,0:128
entry main
  x = f32[8,128] parameter() number=0
  w = f32[8,128] parameter() number=1
  s.0 = ((f32[8,128]), f32[4,128]S1, s32[]S2) async-start(w) calls=low
  s.1 = ((f32[8,128]), f32[4,128]S1, s32[]S2) async-start(w) calls=high
  d.0 = f32[4,128]S1 async-done(s.0)
  d.1 = f32[4,128]S1 async-done(s.1)
  wj = f32[8,128]S1 custom-call(d.0, d.1) target=ConcatBitcast
  ROOT a = f32[8,128] add(x, wj)
)";
  EXPECT_THAT(Check(original, placed), Breaks(PlacedRule::kExtraInstruction));
}

TEST(CheckPlaced, RoundsBuffersUpToTheAlignment) {
  PlacedCheckOptions options = TestOptions();
  options.alignment_bytes = 5000;
  EXPECT_EQ(Examine(kChain.original, kChain.placed, options).peak_bytes, 3 * 5000);
}

// Each array has more bytes than 64 bits hold, and three of them live at the same time.
TEST(CheckPlaced, CountsBytesThatDoNotFitInto64Bits) {
  const std::string original = R"(
entry main
  x = f32[] parameter() number=0
  a = f32[281474976710656,281474976710656] broadcast(x)
  b = f32[281474976710656,281474976710656] broadcast(x)
  c = f32[281474976710656,281474976710656] broadcast(x)
  ROOT r = f32[] custom-call(a, b, c) target=Kernel
)";
  std::string placed = original;
  for (const absl::string_view name : {"a", "b", "c"}) {
    placed = Replaced(placed, absl::StrCat(name, " = f32[281474976710656,281474976710656]"),
                      absl::StrCat(name, " = f32[281474976710656,281474976710656]S1"));
  }
  const PlacedCheck check = Examine(original, placed);
  EXPECT_EQ(check.peak_bytes, std::numeric_limits<int64_t>::max());
  EXPECT_THAT(check.violations, Breaks(PlacedRule::kCapacity));
}

TEST(CheckPlaced, FindsValuesThatTakeMoreThanTheCapacity) {
  PlacedCheckOptions options = TestOptions();
  options.capacity_bytes = 3 * 4096;
  EXPECT_THAT(Check(kChain.original, kChain.placed, options), IsEmpty());
  --options.capacity_bytes;
  EXPECT_THAT(Check(kChain.original, kChain.placed, options), Breaks(PlacedRule::kCapacity));
}

TEST(CheckPlaced, HoldsCrossProgramPrefetchesFromTheStart) {
  // The copy starts late, but the bytes are there from the start, because another program left them
  // there.
  const std::string late = std::string(kPrefetch.placed) + "swap main ws a\n";
  PlacedCheckOptions options = TestOptions();
  EXPECT_THAT(Check(kPrefetch.original, late, options), IsEmpty());
  EXPECT_EQ(Examine(kPrefetch.original, late, options).peak_bytes, 4096);
}

TEST(CheckPlaced, TakesAnotherOrderWhereItIsAllowed) {
  PlacedCheckOptions options = TestOptions();
  options.allow_reordering = true;
  // g moves behind f2, to the place where the eviction starts. No dependency forbids this.
  const std::string later = Replaced(Replaced(kChain.placed, "  g = f32[1024] negate(x)\n", ""),
                                     "  ed = f32[1024] copy-done(es)\n",
                                     "  g = f32[1024] negate(x)\n  ed = f32[1024] copy-done(es)\n");
  EXPECT_THAT(Check(kChain.original, later), Breaks(PlacedRule::kOrderChanged));
  EXPECT_THAT(Check(kChain.original, later, options), IsEmpty());
  EXPECT_THAT(Check(kChain.original, absl::StrCat(kChain.placed, "swap main f1 g\n"), options),
              Breaks(PlacedRule::kControlDependency));
}

TEST(CheckPlaced, FindsReadsAfterOverwritesInAnotherOrder) {
  PlacedCheckOptions options = TestOptions();
  options.allow_reordering = true;
  // With everything in HBM, `before` would read the buffer after `up` has written it.
  EXPECT_THAT(
      Check(kUpdate.original, std::string(kUpdate.original) + "swap main before up\n", options),
      Breaks(PlacedRule::kStaleRead));
}

TEST(CheckPlaced, KeepsTheOrderOfSideEffects) {
  const std::string original = R"(
entry main
  x = f32[8] parameter() number=0
  a = f32[8] custom-call(x) target=Log effect=1
  b = f32[8] custom-call(x) target=Log effect=1
  ROOT r = f32[8] add(a, b)
)";
  PlacedCheckOptions options = TestOptions();
  options.allow_reordering = true;
  EXPECT_THAT(Check(original, original + "swap main a b\n", options),
              Breaks(PlacedRule::kOrderChanged));
}

TEST(CheckPlaced, TakesEveryPassesFreshCopyOfAnInvariant) {
  // The added element is written again at the end of each pass, with the same value.
  const std::string fresh =
      Replaced(Replaced(kLoop.placed, "tuple(ni, nx, bw, bf)", "tuple(ni, nx, bw, fd)"),
               "  nx = f32[1024]S1 multiply(bx, bf)\n",
               "  nx = f32[1024]S1 multiply(bx, bf)\n"
               "  fs = (f32[1024]S1, f32[1024], u32[]S2) copy-start(bw)\n"
               "  fd = f32[1024]S1 copy-done(fs)\n");
  EXPECT_THAT(Check(kLoop.original, fresh), IsEmpty());
  // The old copy must not be overwritten while it is still read.
  const std::string early = fresh + "swap body nx fd\nswap body nx fs\n";
  EXPECT_FALSE(Check(kLoop.original, early).empty());
}

TEST(CheckPlaced, NamesEveryRule) {
  for (int i = 0; i < kPlacedRuleCount; ++i) {
    EXPECT_NE(PlacedRuleName(static_cast<PlacedRule>(i)), "unknown");
  }
}

}  // namespace
}  // namespace mallocmuzero::place_check
