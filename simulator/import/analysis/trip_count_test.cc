#include "simulator/import/analysis/trip_count.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using absl::nullopt;
using absl::optional;

// A loop over (counter, limit), both of which start as constants. `next` must define %n from the
// counter %i and the limit %l; `condition` must end in a ROOT that uses the counter %j and the
// limit %m.
struct LoopText {
  int64_t start = 0;
  int64_t limit = 0;
  std::string next = "%one = s32[] constant(1)\n%n = s32[] add(%i, %one)";
  std::string condition = "ROOT %c = pred[] compare(%j, %m), direction=LT";
  std::string carried_limit = "%l";
  std::string attributes;
  std::string fused;
};

optional<int64_t> Count(const LoopText& loop) {
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(
      absl::StrCat("%a = s32[] constant(", loop.start, ")\n%k = s32[] constant(", loop.limit,
                   ")\n%t = (s32[], s32[]) tuple(%a, %k)\n"
                   "ROOT %w = (s32[], s32[]) while(%t), condition=%cond, body=%body",
                   loop.attributes),
      absl::StrCat("%body (p: (s32[], s32[])) -> (s32[], s32[]) {\n"
                   "%p = (s32[], s32[]) parameter(0)\n%i = s32[] get-tuple-element(%p), index=0\n"
                   "%l = s32[] get-tuple-element(%p), index=1\n",
                   loop.next, "\nROOT %r = (s32[], s32[]) tuple(%n, ", loop.carried_limit,
                   ")\n}\n%cond (q: (s32[], s32[])) -> pred[] {\n"
                   "%q = (s32[], s32[]) parameter(0)\n%j = s32[] get-tuple-element(%q), index=0\n"
                   "%m = s32[] get-tuple-element(%q), index=1\n",
                   loop.condition, "\n}\n", loop.fused)));
  return TripCount(module, module.Entry(), hlo::Get(module, "w"));
}

// Counts the passes of a loop that runs while `counter DIRECTION limit`, with the counter on the
// left.
optional<int64_t> Count(const std::string& direction, int64_t start, int64_t step, int64_t limit) {
  return Count(
      {.start = start,
       .limit = limit,
       .next = absl::StrCat("%s = s32[] constant(", step, ")\n%n = s32[] add(%i, %s)"),
       .condition = absl::StrCat("ROOT %c = pred[] compare(%j, %m), direction=", direction)});
}

TEST(TripCount, TheTextsOwnCountWins) {
  EXPECT_EQ(
      Count({.limit = 7, .attributes = R"(, backend_config={"known_trip_count":{"n":"12"}})"}), 12);
}

TEST(TripCount, CountsUpToALimit) {
  EXPECT_EQ(Count("LT", 0, 1, 10), 10);
  EXPECT_EQ(Count("LT", 3, 1, 10), 7);
  EXPECT_EQ(Count("LT", 0, 3, 10), 4);  // 0, 3, 6, 9
  EXPECT_EQ(Count("LE", 0, 3, 9), 4);   // 0, 3, 6, 9
  EXPECT_EQ(Count("LE", 0, 1, 10), 11);
}

TEST(TripCount, CountsDownToALimit) {
  EXPECT_EQ(Count("GT", 10, -1, 0), 10);
  EXPECT_EQ(Count("GT", 10, -4, 0), 3);  // 10, 6, 2
  EXPECT_EQ(Count("GE", 10, -5, 0), 3);  // 10, 5, 0
}

TEST(TripCount, CountsUntilEqual) {
  EXPECT_EQ(Count("NE", 0, 2, 10), 5);
  EXPECT_EQ(Count("NE", 10, -5, 0), 2);
  EXPECT_EQ(Count("NE", 0, 3, 10), nullopt);  // the counter passes 10 without hitting it
}

TEST(TripCount, ALoopThatNeverRunsCountsZero) {
  EXPECT_EQ(Count("LT", 10, 1, 10), 0);
  EXPECT_EQ(Count("LE", 11, 1, 10), 0);
  EXPECT_EQ(Count("GT", 0, -1, 0), 0);
  EXPECT_EQ(Count("NE", 4, 1, 4), 0);
}

TEST(TripCount, ALoopThatNeverEndsIsUnknown) {
  EXPECT_EQ(Count("LT", 0, -1, 10), nullopt);
  EXPECT_EQ(Count("LT", 0, 0, 10), nullopt);
  EXPECT_EQ(Count("GT", 10, 1, 0), nullopt);
  EXPECT_EQ(Count("EQ", 0, 1, 0), nullopt);
}

TEST(TripCount, LimitOnTheLeftMirrorsTheDirection) {
  EXPECT_EQ(Count({.limit = 10, .condition = "ROOT %c = pred[] compare(%m, %j), direction=GT"}),
            10);
  EXPECT_EQ(Count({.limit = 10, .condition = "ROOT %c = pred[] compare(%m, %j), direction=GE"}),
            11);
}

TEST(TripCount, LimitInsideTheCondition) {
  EXPECT_EQ(Count({.condition = "%five = s32[] constant(5)\n"
                                "ROOT %c = pred[] compare(%j, %five), direction=LT"}),
            5);
}

TEST(TripCount, OffsetBeforeTheComparisonMovesTheStart) {
  // counter + 2 is compared with 10 and takes the values 2, 3, ..., 9.
  EXPECT_EQ(Count({.limit = 10,
                   .condition = "%two = s32[] constant(2)\n%o = s32[] add(%two, %j)\n"
                                "ROOT %c = pred[] compare(%o, %m), direction=LT"}),
            8);
}

TEST(TripCount, FusionsAndCopiesAreSeenThrough) {
  EXPECT_EQ(Count({.limit = 6,
                   .next = "%h = s32[] copy(%i)\n%n = s32[] fusion(%h), kind=kLoop, calls=%step",
                   .condition = "ROOT %c = pred[] fusion(%m, %j), kind=kLoop, calls=%less",
                   .fused = "%step (p: s32[]) -> s32[] {\n%x = s32[] parameter(0)\n"
                            "%u = s32[] constant(2)\nROOT %v = s32[] add(%x, %u)\n}\n"
                            "%less (p: s32[], q: s32[]) -> pred[] {\n%y = s32[] parameter(0)\n"
                            "%z = s32[] parameter(1)\n"
                            "ROOT %d = pred[] compare(%z, %y), direction=LT\n}\n"}),
            3);
}

TEST(TripCount, SubtractionSteps) {
  EXPECT_EQ(Count({.start = 6,
                   .next = "%two = s32[] constant(2)\n%n = s32[] subtract(%i, %two)",
                   .condition = "ROOT %c = pred[] compare(%j, %m), direction=GT"}),
            3);
}

TEST(TripCount, ALimitThatTheLoopChangesIsUnknown) {
  EXPECT_EQ(Count({.limit = 10, .carried_limit = "%n"}), nullopt);
}

TEST(TripCount, AStepThatIsNoConstantIsUnknown) {
  EXPECT_EQ(Count({.limit = 10, .next = "%n = s32[] add(%i, %i)"}), nullopt);
  EXPECT_EQ(Count({.limit = 10, .next = "%n = s32[] multiply(%i, %i)"}), nullopt);
}

TEST(TripCount, NumbersOfAnySizeAreSafe) {
  constexpr int64_t kMin = INT64_MIN;
  constexpr int64_t kMax = INT64_MAX;
  EXPECT_EQ(Count("LT", kMin, 1, kMax), nullopt);  // the number of passes is too large
  EXPECT_EQ(Count("LE", 0, kMax, kMax), 2);        // 0, kMax
  EXPECT_EQ(Count("GE", 0, kMin, kMin), 2);        // 0, kMin
  EXPECT_EQ(Count("NE", kMin, kMax, kMax), nullopt);
}

// Each sum uses the one before it twice: without a bound this would take 2^60 visits.
TEST(TripCount, SumsOfSumsEndFast) {
  std::string next = "%s0 = s32[] constant(0)\n";
  for (int i = 1; i <= 60; ++i) {
    absl::StrAppend(&next, "%s", i, " = s32[] add(%s", i - 1, ", %s", i - 1, ")\n");
  }
  EXPECT_EQ(Count({.limit = 10, .next = next + "%n = s32[] add(%i, %s60)"}), nullopt);
}

}  // namespace
}  // namespace mallocmuzero
