#include "env/solvers/neighbourhood.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "base/testing/index_matching.h"
#include "env/program_rules.h"
#include "env/solvers/alike_accesses.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/program_facts.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::Lt;

class NeighbourhoodTest : public ::testing::Test {
 protected:
  NeighbourhoodTest() { incumbent_.Reset(Plan(rules_.access_count(), Action::kDrop)); }

  const Program program_ = testing::LayeredProgram(40);
  const ProgramRules rules_ = testing::EverythingMatters(program_);
  const ProgramFacts facts_{rules_};
  const NeighbourhoodTables tables_{facts_};
  Neighbourhood neighbourhood_{tables_};
  Incumbent incumbent_{rules_};
  Random random_{1};
};

TEST_F(NeighbourhoodTest, AWindowIsAroundItsAccessOrAtAnEndOfTheProgram) {
  const auto movable = tables_.movable();
  const uint32_t size = neighbourhood_.size();
  ASSERT_GT(size, 100);
  const Window middle = neighbourhood_.WindowAround(movable[50], 20);
  EXPECT_EQ(middle.first, 40);
  EXPECT_EQ(middle.end, 60);
  EXPECT_EQ(neighbourhood_.WindowAround(movable[3], 20).first, 0);
  EXPECT_EQ(neighbourhood_.WindowAround(movable[size - 1], 20).end, size);
  EXPECT_EQ(neighbourhood_.WindowAround(movable[size - 1], 20).size(), 20);
  EXPECT_EQ(neighbourhood_.WindowAround(movable[50], size + 1).size(), size);
}

TEST_F(NeighbourhoodTest, DrawsChangeOnlyAccessesInTheWindow) {
  const Window window = {.first = 100, .end = 130};
  const auto [first, end] = neighbourhood_.AccessesIn(window);
  EXPECT_EQ(first, tables_.movable()[100]);
  EXPECT_EQ(end, tables_.movable()[129] + 1);
  neighbourhood_.SetWindow(window);
  int changes = 0;
  for (int k = 0; k < 500; ++k) {
    const auto draw = neighbourhood_.Draw(incumbent_, random_);
    EXPECT_THAT(draw, Each(Field(&PlanChange::access, AllOf(Ge(first), Lt(end)))));
    changes += draw.size();
  }
  EXPECT_GE(changes, 500);
}

TEST_F(NeighbourhoodTest, DrawsReachTheWholeProgramWithoutAWindow) {
  AccessIndex least = rules_.end_access();
  AccessIndex most = 0;
  for (int k = 0; k < 500; ++k) {
    for (const PlanChange& change : neighbourhood_.Draw(incumbent_, random_)) {
      least = std::min(least, change.access);
      most = std::max(most, change.access);
    }
  }
  EXPECT_LT(least, 20);
  EXPECT_GE(most, rules_.access_count() - 20);
}

// Whether the draw does the same to all accesses that are alike to its first one.
bool ChangesAlike(const AlikeAccesses& alike, absl::Span<const PlanChange> draw) {
  if (draw.empty()) return false;
  const auto expected = alike.To(draw[0].access);
  const auto changes = [&](AccessIndex a) {
    return absl::c_any_of(draw, [&](const PlanChange& change) {
      return change.access == a && change.action == draw[0].action;
    });
  };
  return expected.size() > 10 && absl::c_all_of(expected, changes);
}

TEST_F(NeighbourhoodTest, SomeDrawsDoTheSameToAllAlikeAccesses) {
  int draws = 0;
  for (int k = 0; k < 2000; ++k) {
    if (ChangesAlike(tables_.alike(), neighbourhood_.Draw(incumbent_, random_))) ++draws;
  }
  EXPECT_GE(draws, 50);
  EXPECT_LE(draws, 700);
}

TEST_F(NeighbourhoodTest, SpreadsTheChangesOfAWindowToAlikeAccessesOutside) {
  const Window window = {.first = 100, .end = 130};
  neighbourhood_.SetWindow(window);
  const auto [first, end] = neighbourhood_.AccessesIn(window);
  const Plan before = incumbent_.plan();
  EXPECT_THAT(neighbourhood_.Spread(before, incumbent_), ElementsAre());
  const AccessIndex changed = tables_.movable()[110];
  const AccessIndex outside = tables_.movable()[200];
  incumbent_.Try(
      {{.access = changed, .action = Action::kCopy}, {.access = outside, .action = Action::kCopy}},
      std::numeric_limits<double>::infinity(), Incumbent::Never);
  const auto spread = neighbourhood_.Spread(before, incumbent_);
  std::vector<AccessIndex> expected;
  for (const AccessIndex a : tables_.alike().To(changed)) {
    const bool is_done = incumbent_.plan()[a] == Action::kCopy;
    if ((a < first || a >= end) && !is_done) expected.push_back(a);
  }
  ASSERT_GE(expected.size(), 10);
  ASSERT_EQ(spread.size(), expected.size());
  for (size_t k = 0; k < spread.size(); ++k) {
    EXPECT_EQ(spread[k].access, expected[k]);
    EXPECT_EQ(spread[k].action, Action::kCopy);
  }
}

TEST_F(NeighbourhoodTest, PlacesToDisturbAreInInstructionsOfTheWindow) {
  const Window window = {.first = 100, .end = 130};
  neighbourhood_.SetWindow(window);
  const auto instruction_of = [this](AccessIndex a) { return program_.accesses()[a].instruction; };
  const auto [first, end] = neighbourhood_.AccessesIn(window);
  std::set<AccessIndex> places;
  for (int k = 0; k < 500; ++k) {
    const AccessIndex place = neighbourhood_.DrawPlace(incumbent_, random_);
    EXPECT_GE(instruction_of(place), instruction_of(first));
    EXPECT_LE(instruction_of(place), instruction_of(end - 1));
    places.insert(place);
  }
  EXPECT_GE(places.size(), 10);
}

}  // namespace
}  // namespace mallocmuzero
