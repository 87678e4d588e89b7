#include "env/solvers/priced.h"

#include <cstdint>
#include <vector>

#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solver.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using enum Action;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using ::testing::SizeIs;
using testing::Write;

// Weights that are read at the beginning, soon again, and once more after 1000 cycles.
Program WeightsReadThrice() {
  ProgramBuilder builder;
  const uint32_t weights = builder.AddBuffer(1000, {.live_in = true});
  builder.AddInstruction(50, {Read(weights, 5)});
  builder.AddInstruction(50, {Read(weights, 30)});
  for (int k = 0; k < 20; ++k) builder.AddInstruction(50);
  builder.AddInstruction(50, {Read(weights, 30)});
  return builder.Build();
}

TEST(PricedPlanner, KeepsWhatSavesSomethingIfMemoryIsFree) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_THAT(PricedPlanner(rules).PlanFor({}), ElementsAre(kCopy, kNoCopy, kNoCopy));
}

TEST(PricedPlanner, CopiesCostTimeOnHbm) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  // Copying 1000 bytes takes 100 cycles, which at that price the first read does not save.
  EXPECT_THAT(PricedPlanner(rules).PlanFor({.copy = 0.1}), ElementsAre(kDrop, kNoCopy, kNoCopy));
}

TEST(PricedPlanner, DearMemoryIsNotHeldForLong) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  const Plan plan = PricedPlanner(rules).PlanFor({.memory = 5});
  EXPECT_EQ(plan[1], kNoCopy);
  EXPECT_NE(plan[2], kNoCopy);
  EXPECT_THAT(PricedPlanner(rules).PlanFor({.memory = 1e6}), Each(kDrop));
}

TEST(PricedPlanner, AValueThatIsKeptToItsEndIsNotWrittenToHbm) {
  ProgramBuilder builder;
  const uint32_t value = builder.AddBuffer(1000);
  builder.AddInstruction(50, {Write(value, 20)});
  builder.AddInstruction(50, {Read(value, 20)});
  for (int k = 0; k < 40; ++k) builder.AddInstruction(50);
  builder.AddInstruction(50, {Read(value, 1)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  const PricedPlanner planner(rules);
  EXPECT_THAT(planner.PlanFor({}), ElementsAre(kNoCopy, kNoCopy, kNoCopy));
  // The last read does not pay for 2,000 cycles: from then on HBM must have it.
  EXPECT_THAT(planner.PlanFor({.memory = 1}), ElementsAre(kCopy, kNoCopy, kDrop));
}

TEST(BestPricedPlans, AreDifferentGamesBestFirst) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  const SolveOptions options;
  SearchBudget budget(options);
  const std::vector<Plan> plans = BestPricedPlans(rules, 3, budget);
  ASSERT_GE(plans.size(), 2);
  ASSERT_LE(plans.size(), 3);
  double last = 0;
  for (const Plan& plan : plans) {
    Game game(rules);
    PlayPlan(plan, game);
    EXPECT_GT(game.cycles(), last);
    last = game.cycles();
  }
}

TEST(BestPricedPlans, EndWithTheBudget) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  SolveOptions options;
  options.max_games = 1;
  SearchBudget budget(options);
  EXPECT_THAT(BestPricedPlans(rules, 3, budget), SizeIs(1));
}

}  // namespace
}  // namespace mallocmuzero
