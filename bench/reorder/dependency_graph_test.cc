#include "bench/reorder/dependency_graph.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "base/size32.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero::reorder {
namespace {

using mallocmuzero::testing::LoopModule;
using mallocmuzero::testing::MustAnalyze;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The names of the units that must run before the unit `name`.
std::vector<std::string> Before(const AnalyzedModule& analyzed, absl::string_view name) {
  const DependencyGraph graph = FindDependencies(analyzed);
  const hlo::Computation& entry = analyzed.schedule.ComputationOf(0);
  std::vector<std::string> names;
  for (const DependencyGraph::Unit& unit : graph.units) {
    if (entry.instructions[unit.instruction].name != name) continue;
    for (const int32_t p : unit.predecessors) {
      names.emplace_back(entry.instructions[graph.units[p].instruction].name);
    }
  }
  return names;
}

// Two chains from one parameter to the root.
std::string TwoChains() {
  return hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%x = f32[64] negate(%a)\n%y = f32[64] exponential(%a)\n"
      "%v = f32[8,8] bitcast(%x)\n%w = f32[8,8] negate(%v)\n"
      "ROOT %r = (f32[8,8], f32[64]) tuple(%w, %y)");
}

TEST(DependencyGraph, ForwardingInstructionsAreLookedThrough) {
  const auto m = MustAnalyze(TwoChains());
  EXPECT_EQ(FindDependencies(*m).size(), 4);  // the units are x, y, w, r
  EXPECT_THAT(Before(*m, "x"), IsEmpty());
  EXPECT_THAT(Before(*m, "y"), IsEmpty());
  EXPECT_THAT(Before(*m, "w"), ElementsAre("x"));
  EXPECT_THAT(Before(*m, "r"), ElementsAre("x", "y", "w"));  // r is last because it is the root
}

TEST(DependencyGraph, AnUpdateInPlaceComesAfterReadersOfTheOldValue) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%u = f32[4] parameter(1)\n%i = s32[] parameter(2)\n"
      "%n = f32[64] negate(%a)\n%old = f32[64] exponential(%n)\n"
      "%d = f32[64] dynamic-update-slice(%n, %u, %i)\n%new = f32[64] negate(%d)\n"
      "ROOT %r = (f32[64], f32[64]) tuple(%old, %new)"));
  EXPECT_THAT(Before(*m, "d"), ElementsAre("n", "old"));
  EXPECT_THAT(Before(*m, "new"), ElementsAre("d"));
}

TEST(DependencyGraph, ADonatedParameterIsReadBeforeItsNewValueIsWritten) {
  const std::string body =
      "%a = f32[64] parameter(0)\n%read = f32[64] negate(%a)\n"
      "%b = f32[64] parameter(1)\n%made = f32[64] exponential(%b)\n"
      "ROOT %r = (f32[64], f32[64]) tuple(%made, %read)";
  const std::string text = hlo::EntryModule(body);
  EXPECT_THAT(Before(*MustAnalyze(text), "made"), IsEmpty());
  const std::string donated =
      absl::StrReplaceAll(text, {{"is_scheduled=true",
                                  "is_scheduled=true, input_output_alias={ {0}: (0, {}, "
                                  "may-alias) }"}});
  EXPECT_THAT(Before(*MustAnalyze(donated), "made"), ElementsAre("read"));
}

TEST(DependencyGraph, ALoopIsOneUnitAndOverwritesWhatItStartsFrom) {
  const std::string text =
      absl::StrReplaceAll(LoopModule(3, "%state = f32[8] negate(%x)"),
                          {{"%t = (s32[]",
                            "%made = f32[8] negate(%init)\n%other = f32[8] exponential(%made)\n"
                            "%t = (s32[]"},
                           {"tuple(%z, %init)", "tuple(%z, %made)"}});
  const auto m = MustAnalyze(text);
  EXPECT_THAT(Before(*m, "w"), ElementsAre("made", "other", "t"));
  const DependencyGraph graph = FindDependencies(*m);
  const DependencyGraph::Unit& loop = graph.units.back();
  EXPECT_EQ(loop.end_priced, Size32(m->priced));
  EXPECT_EQ(graph.units[0].first_priced, 0);
  for (int32_t u = 1; u < graph.size(); ++u) {  // the steps have no gap
    EXPECT_EQ(graph.units[u].first_priced, graph.units[u - 1].end_priced);
  }
}

TEST(DependencyGraph, WhatHasSideEffectsKeepsItsOrder) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n"
      "%s = f32[64] custom-call(%a), custom_call_target=\"S\", custom_call_has_side_effect=true\n"
      "%p = f32[64] custom-call(%a), custom_call_target=\"P\"\n"
      "%t = f32[64] custom-call(%a), custom_call_target=\"S\", custom_call_has_side_effect=true\n"
      "ROOT %r = (f32[64], f32[64], f32[64]) tuple(%s, %p, %t)"));
  EXPECT_THAT(Before(*m, "p"), IsEmpty());
  EXPECT_THAT(Before(*m, "t"), ElementsAre("s"));
}

TEST(DependencyGraph, ControlPredecessorsCount) {
  const auto m =
      MustAnalyze(hlo::EntryModule("%a = f32[64] parameter(0)\n%x = f32[64] negate(%a)\n"
                                   "%y = f32[64] exponential(%a), control-predecessors={%x}\n"
                                   "ROOT %r = (f32[64], f32[64]) tuple(%x, %y)"));
  EXPECT_THAT(Before(*m, "y"), ElementsAre("x"));
}

TEST(DependencyGraph, OrdersAreLegalOnlyIfTheyKeepAllDependencies) {
  const auto m = MustAnalyze(TwoChains());
  const DependencyGraph graph = FindDependencies(*m);
  EXPECT_TRUE(IsLegal(graph, {0, 1, 2, 3}));
  EXPECT_TRUE(IsLegal(graph, {1, 0, 2, 3}));
  EXPECT_FALSE(IsLegal(graph, {2, 0, 1, 3}));  // w is before x
  EXPECT_FALSE(IsLegal(graph, {0, 1, 3, 2}));  // the root is not last
  EXPECT_FALSE(IsLegal(graph, {0, 1, 2}));
  EXPECT_FALSE(IsLegal(graph, {0, 0, 2, 3}));
  // Each unit has three other positions. x can move to position 1, y to 0 and 2, w to 1, and r to
  // none: 4 of 4 x 3 moves.
  EXPECT_DOUBLE_EQ(MeanMobility(graph), 4.0 / 12);
}

TEST(DependencyGraph, TheEntryInOrderHasForwardingInstructionsBetween) {
  const auto m = MustAnalyze(TwoChains());
  const hlo::Computation& entry = m->schedule.ComputationOf(0);
  std::vector<std::string> names;
  for (const auto i : EntryOrder(entry, FindDependencies(*m), {1, 0, 2, 3})) {
    names.emplace_back(entry.instructions[i].name);
  }
  EXPECT_THAT(names, ElementsAre("a", "y", "x", "v", "w", "r"));
}

}  // namespace
}  // namespace mallocmuzero::reorder
