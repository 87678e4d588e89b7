#include "simulator/import/analysis/schedule.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Names of the steps in order. The markers of a loop are "w<" and "w>".
std::vector<std::string> Names(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const Step& step : schedule.steps) {
    names.push_back(
        absl::StrCat(schedule.InstructionAt(step).name, step.kind == Step::Kind::kLoopBegin ? "<"
                                                        : step.kind == Step::Kind::kLoopEnd ? ">"
                                                                                            : ""));
  }
  return names;
}

Schedule MustFlatten(const hlo::Module& module) {
  absl::StatusOr<Schedule> schedule = FlattenSchedule(module, "test.hlo");
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

std::string FlattenError(const hlo::Module& module) {
  const absl::StatusOr<Schedule> schedule = FlattenSchedule(module, "test.hlo");
  EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(schedule.status().message());
}

TEST(Schedule, BodyThenConditionStandBetweenTheMarkersOfALoop) {
  const hlo::Module module = hlo::MustParse(testing::LoopModule(3, "%state = f32[8] negate(%x)"));
  EXPECT_THAT(Names(MustFlatten(module)),
              ElementsAre("z", "init", "t", "w<", "p", "i", "x", "one", "n", "state", "r", "q", "j",
                          "limit", "c", "w>", "result"));
}

TEST(Schedule, BodyAndConditionRunTripCountTimes) {
  const hlo::Module module = hlo::MustParse(testing::LoopModule(3, "%state = f32[8] negate(%x)"));
  const Schedule schedule = MustFlatten(module);
  ASSERT_EQ(schedule.loops.size(), 1);
  const ScheduledLoop& loop = schedule.loops[0];
  EXPECT_EQ(loop.trip_count, 3);
  EXPECT_TRUE(loop.trip_count_known);
  EXPECT_EQ(loop.parent, -1);
  EXPECT_EQ(loop.begin, 3);
  EXPECT_EQ(loop.end, 15);
  EXPECT_EQ(schedule.instances[0].execution_count, 1);
  EXPECT_EQ(schedule.instances[loop.body].execution_count, 3);
  EXPECT_EQ(schedule.instances[loop.body].loop, 0);
  EXPECT_EQ(schedule.instances[loop.condition].execution_count, 3);
}

// An outer loop with `outer` passes around an inner one with `inner` passes; both carry f32[8].
std::string NestedLoops(absl::string_view outer, absl::string_view inner) {
  const auto trips = [](absl::string_view n) {
    return absl::StrCat(R"(backend_config={"known_trip_count":{"n":")", n, "\"}}\n");
  };
  return hlo::EntryModule(absl::StrCat("%a = f32[8] parameter(0)\n"
                                       "ROOT %outer = f32[8] while(%a), condition=%c1, body=%b1, ",
                                       trips(outer)),
                          absl::StrCat("%b1 (p: f32[8]) -> f32[8] {\n%p1 = f32[8] parameter(0)\n"
                                       "ROOT %inner = f32[8] while(%p1), condition=%c2, body=%b2, ",
                                       trips(inner),
                                       "}\n%b2 (p: f32[8]) -> f32[8] {\n%p2 = f32[8] parameter(0)\n"
                                       "ROOT %neg = f32[8] negate(%p2)\n}\n"
                                       "%c1 (p: f32[8]) -> pred[] {\n%q1 = f32[8] parameter(0)\n"
                                       "ROOT %k1 = pred[] constant(true)\n}\n"
                                       "%c2 (p: f32[8]) -> pred[] {\n%q2 = f32[8] parameter(0)\n"
                                       "ROOT %k2 = pred[] constant(true)\n}\n"));
}

TEST(Schedule, NestedLoopsMultiply) {
  const hlo::Module module = hlo::MustParse(NestedLoops("4", "3"));
  const Schedule schedule = MustFlatten(module);
  EXPECT_THAT(Names(schedule), ElementsAre("a", "outer<", "p1", "inner<", "p2", "neg", "q2", "k2",
                                           "inner>", "q1", "k1", "outer>"));
  ASSERT_EQ(schedule.loops.size(), 2);
  EXPECT_EQ(schedule.loops[1].parent, 0);
  EXPECT_EQ(schedule.instances[schedule.loops[0].body].execution_count, 4);
  EXPECT_EQ(schedule.instances[schedule.loops[1].body].execution_count, 4 * 3);
  EXPECT_EQ(schedule.instances[schedule.loops[1].condition].execution_count, 4 * 3);
  EXPECT_EQ(schedule.instances[schedule.loops[0].condition].execution_count, 4);
}

TEST(Schedule, MoreExecutionsThanADoubleCountsAreRefusedWithTheirLine) {
  const std::string most = "9007199254740992";  // 2^53
  const hlo::Module module = hlo::MustParse(NestedLoops(most, "1"));
  const Schedule schedule = MustFlatten(module);
  EXPECT_EQ(schedule.instances[schedule.loops[1].body].execution_count, int64_t{1} << 53);
  EXPECT_EQ(FlattenError(hlo::MustParse(NestedLoops("9007199254740993", "1"))),
            "test.hlo:5:1: %outer: expected at most 2^53 executions in all, found a loop of "
            "9007199254740993 passes that is run 1 times");
  EXPECT_EQ(FlattenError(hlo::MustParse(NestedLoops(most, "2"))),
            "test.hlo:10:1: %inner: expected at most 2^53 executions in all, found a loop of 2 "
            "passes that is run 9007199254740992 times");
  EXPECT_THAT(FlattenError(hlo::MustParse(NestedLoops("0", "9007199254740993"))),
              HasSubstr("%inner: expected at most 2^53 executions"));
}

TEST(Schedule, MoreEstimatedCyclesThanADoubleCountsAreRefusedWithTheirLine) {
  const auto negate = [](absl::string_view cycles) {
    return hlo::MustParse(
        hlo::EntryModule(absl::StrCat("%a = f32[8] parameter(0)\nROOT %n = f32[8] negate(%a), "
                                      R"(backend_config={"window_config":{"estimated_cycles":")",
                                      cycles, R"("}})")));
  };
  EXPECT_TRUE(FlattenSchedule(negate("9007199254740992"), "test.hlo").ok());
  EXPECT_EQ(FlattenError(negate("9007199254740993")),
            "test.hlo:5:1: %n: expected estimated_cycles of at most 2^53, found 9007199254740993");
}

TEST(Schedule, ArraysBeyondMeasureAreRefusedWithTheirLine) {
  const auto parameter = [](absl::string_view elements) {
    return hlo::MustParse(
        hlo::EntryModule(absl::StrCat("%a = (f32[], pred[", elements, "]) parameter(0)\n",
                                      "ROOT %b = f32[] get-tuple-element(%a), index=0")));
  };
  EXPECT_TRUE(FlattenSchedule(parameter("1125899906842624"), "test.hlo").ok());  // 2^50
  EXPECT_EQ(FlattenError(parameter("1125899906842625")),
            "test.hlo:4:1: %a: expected arrays of at most 2^50 bytes, found 1125899906842625");
}

TEST(Schedule, UnknownTripCountIsTheCostModelsAssumption) {
  const hlo::Module module = hlo::MustParse(
      hlo::EntryModule("%a = f32[8] parameter(0)\n"
                       "ROOT %w = f32[8] while(%a), condition=%c, body=%b",
                       "%b (p: f32[8]) -> f32[8] {\nROOT %p = f32[8] parameter(0)\n}\n"
                       "%c (p: f32[8]) -> pred[] {\n%q = f32[8] parameter(0)\nROOT %k = pred[] "
                       "constant(true)\n}\n"));
  const Schedule schedule = MustFlatten(module);
  EXPECT_FALSE(schedule.loops[0].trip_count_known);
  EXPECT_EQ(schedule.loops[0].trip_count, 5);
  EXPECT_EQ(schedule.instances[schedule.loops[0].body].execution_count, 5);
}

TEST(Schedule, AllBranchesOfAConditionalAreInlinedAndRunOnce) {
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(
      "%s = s32[] parameter(0)\n%a = f32[8] parameter(1)\n"
      "ROOT %cond = f32[8] conditional(%s, %a, %a), branch_computations={%one, %two}",
      "%one (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\nROOT %n = f32[8] negate(%p)\n}\n"
      "%two (p: f32[8]) -> f32[8] {\n%q = f32[8] parameter(0)\nROOT %e = f32[8] abs(%q)\n}\n"));
  const Schedule schedule = MustFlatten(module);
  EXPECT_THAT(Names(schedule), ElementsAre("s", "a", "p", "n", "q", "e", "cond"));
  ASSERT_EQ(schedule.calls.size(), 1);
  EXPECT_EQ(schedule.calls[0].callees.size(), 2);
  for (const ComputationInstance& instance : schedule.instances) {
    EXPECT_EQ(instance.execution_count, 1);
    EXPECT_EQ(instance.loop, -1);
  }
}

TEST(Schedule, AComputationCalledTwiceHasTwoInstances) {
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%x = f32[8] call(%a), to_apply=%f\n"
      "ROOT %y = f32[8] call(%x), to_apply=%f",
      "%f (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\nROOT %n = f32[8] negate(%p)\n}\n"));
  const Schedule schedule = MustFlatten(module);
  EXPECT_THAT(Names(schedule), ElementsAre("a", "p", "n", "x", "p", "n", "y"));
  EXPECT_EQ(schedule.instances.size(), 3);
  EXPECT_NE(schedule.steps[1].instance, schedule.steps[4].instance);
}

TEST(Schedule, FusedComputationsAreNotInlined) {
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(
      "%a = f32[8] parameter(0)\nROOT %x = f32[8] fusion(%a), kind=kLoop, calls=%f",
      "%f (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\nROOT %n = f32[8] negate(%p)\n}\n"));
  EXPECT_THAT(Names(MustFlatten(module)), ElementsAre("a", "x"));
}

TEST(Schedule, UnscheduledModuleIsRefused) {
  const hlo::Module module =
      hlo::MustParse("HloModule m\n\nENTRY %main () -> f32[] {\nROOT %a = f32[] constant(1)\n}\n");
  EXPECT_EQ(FlattenError(module), "test.hlo:1:1: expected is_scheduled=true in the module header");
}

TEST(Schedule, LoopWithoutBodyIsRefusedWithItsLine) {
  const hlo::Module module =
      hlo::MustParse(hlo::EntryModule("%a = f32[8] parameter(0)\nROOT %w = f32[8] while(%a)"));
  EXPECT_THAT(FlattenError(module), StartsWith("test.hlo:5:1: %w: expected"));
}

TEST(Schedule, CallWithTwoTargetsIsRefusedWithItsLine) {
  const hlo::Module module = hlo::MustParse(
      hlo::EntryModule("%a = f32[8] parameter(0)\n"
                       "ROOT %w = f32[8] call(%a), called_computations={%f, %f}",
                       "%f (p: f32[8]) -> f32[8] {\nROOT %p = f32[8] parameter(0)\n}\n"));
  EXPECT_EQ(FlattenError(module), "test.hlo:5:1: %w: expected one called computation of a call");
}

TEST(Schedule, CallWithoutTargetIsRefusedWithItsLine) {
  const hlo::Module module =
      hlo::MustParse(hlo::EntryModule("%a = f32[8] parameter(0)\nROOT %w = f32[8] call(%a)"));
  EXPECT_THAT(FlattenError(module),
              StartsWith("test.hlo:5:1: %w: expected one called computation"));
}

// `levels` computations, each of which calls the next one `calls` times, above %f0, which calls
// none. ENTRY calls the outermost one.
std::string CallTower(int levels, int calls) {
  std::string text = "%f0 (p: f32[]) -> f32[] {\nROOT %x = f32[] parameter(0)\n}\n";
  for (int level = 1; level <= levels; ++level) {
    absl::StrAppend(&text, "%f", level, " (p: f32[]) -> f32[] {\n%x0 = f32[] parameter(0)\n");
    for (int call = 1; call <= calls; ++call) {
      absl::StrAppend(&text, call == calls ? "ROOT " : "", "%x", call, " = f32[] call(%x", call - 1,
                      "), to_apply=%f", level - 1, "\n");
    }
    text += "}\n";
  }
  return hlo::EntryModule(
      absl::StrCat("%a = f32[] parameter(0)\nROOT %b = f32[] call(%a), to_apply=%f", levels), text);
}

TEST(Schedule, CallsNestedTooDeepAreRefused) {
  EXPECT_TRUE(FlattenSchedule(hlo::MustParse(CallTower(63, 1)), "test.hlo").ok());
  EXPECT_THAT(FlattenError(hlo::MustParse(CallTower(64, 1))), HasSubstr("nested at most 64 deep"));
}

TEST(Schedule, CallsThatMultiplyBeyondMeasureAreRefused) {
  EXPECT_THAT(FlattenError(hlo::MustParse(CallTower(40, 2))), HasSubstr("at most 4 million steps"));
}

// %f returns `arrays` arrays in one tuple and is called `calls` times from %g, which ENTRY calls
// `calls` times.
std::string WideCalls(int arrays, int calls) {
  std::string shape = "f32[]";
  std::string elements = "%x";
  for (int i = 1; i < arrays; ++i) {
    shape += ",f32[]";
    elements += ",%x";
  }
  const auto call = [&](absl::string_view target) {
    std::string lines;
    for (int i = 1; i <= calls; ++i) {
      absl::StrAppend(&lines, i == calls ? "ROOT " : "", "%c", i,
                      " = f32[] call(%x), to_apply=", target, "\n");
    }
    return lines;
  };
  return hlo::EntryModule(
      absl::StrCat("%x = f32[] parameter(0)\n", call("%g")),
      absl::StrCat("%g (p: f32[]) -> f32[] {\n%x = f32[] parameter(0)\n", call("%f"),
                   "}\n%f (p: f32[]) -> f32[] {\n%x = f32[] parameter(0)\n%t = (", shape,
                   ") tuple(", elements, ")\nROOT %e = f32[] get-tuple-element(%t), index=0\n}\n"));
}

// A text of 200 kB whose 10,000 arrays occur 10^6 times.
TEST(Schedule, ArraysThatMultiplyBeyondMeasureAreRefused) {
  EXPECT_TRUE(FlattenSchedule(hlo::MustParse(WideCalls(10000, 20)), "test.hlo").ok());
  EXPECT_THAT(FlattenError(hlo::MustParse(WideCalls(10000, 1000))),
              HasSubstr("%t: expected at most 16 million arrays"));
}

// A text of 250 kB whose 65,000 empty tuples occur 65 million times.
TEST(Schedule, EmptyTuplesThatMultiplyBeyondMeasureAreRefused) {
  std::string shape = "()";
  for (int i = 1; i < 65000; ++i) shape += ",()";
  std::string calls;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&calls, "%c", i, " = f32[] call(), to_apply=%f\n");
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(
      calls,
      absl::StrCat("%f () -> f32[] {\n%t = (", shape, ") tuple()\nROOT %x = f32[] iota()\n}\n")));
  EXPECT_THAT(FlattenError(module), HasSubstr("%t: expected at most 16 million arrays"));
}

// Picking single elements from a wide tuple must not count all of its arrays each time.
TEST(Schedule, ElementsOfOneWideTupleDoNotCountItsArrays) {
  const int count = 6000;  // squared, this is 36 million
  std::string shape = "f32[]";
  std::string lines;
  for (int i = 1; i < count; ++i) {
    shape += ",f32[]";
    absl::StrAppend(&lines, "%e", i, " = f32[] get-tuple-element(%t), index=", i, "\n");
  }
  const hlo::Module module = hlo::MustParse(
      hlo::EntryModule(absl::StrCat("%t = (", shape, ") parameter(0)\n", lines,
                                    "ROOT %r = f32[] get-tuple-element(%t), index=0")));
  EXPECT_TRUE(FlattenSchedule(module, "test.hlo").ok());
}

// So many fusions of one computation that has as many instructions with an operand.
std::string FusionsOfOneComputation(int times) {
  std::string fusions;
  std::string fused;
  for (int i = 1; i <= times; ++i) {
    absl::StrAppend(&fusions, "%x", i, " = f32[] fusion(%x", i - 1, "), kind=kLoop, calls=%f\n");
    absl::StrAppend(&fused, "%x", i, " = f32[] negate(%x", i - 1, ")\n");
  }
  return hlo::EntryModule(absl::StrCat("%x0 = f32[] parameter(0)\n", fusions),
                          absl::StrCat("%f {\n%x0 = f32[] parameter(0)\n", fused, "}\n"));
}

// A text of 200 kB whose fusions have 18 million arrays and operands.
TEST(Schedule, FusionsOfOneLongComputationAreRefused) {
  EXPECT_TRUE(FlattenSchedule(hlo::MustParse(FusionsOfOneComputation(2000)), "test.hlo").ok());
  EXPECT_THAT(FlattenError(hlo::MustParse(FusionsOfOneComputation(3000))),
              HasSubstr("expected at most 16 million arrays and operands in fusions"));
}

}  // namespace
}  // namespace mallocmuzero
