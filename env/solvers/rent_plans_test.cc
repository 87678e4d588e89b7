#include "env/solvers/rent_plans.h"

#include <cstdint>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solve.h"
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
  const BufferIndex weights = builder.AddBuffer(1000, {.live_in = true});
  builder.AddInstruction(50, {Read(weights, 5)});
  builder.AddInstruction(50, {Read(weights, 30)});
  for (int k = 0; k < 20; ++k) builder.AddInstruction(50);
  builder.AddInstruction(50, {Read(weights, 30)});
  return builder.Build();
}

TEST(RentPlanner, KeepsWhatSavesSomethingIfMemoryIsFree) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_THAT(RentPlanner(ProgramFacts(rules)).PlanFor({}), ElementsAre(kCopy, kNoCopy, kNoCopy));
}

TEST(RentPlanner, CopiesCostTimeOnHbm) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  // Copying 1000 bytes takes 100 cycles, which at that price the first read does not save.
  EXPECT_THAT(RentPlanner(ProgramFacts(rules)).PlanFor({.copy = 0.1}),
              ElementsAre(kDrop, kNoCopy, kNoCopy));
}

TEST(RentPlanner, DearMemoryIsNotHeldForLong) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  const Plan plan = RentPlanner(ProgramFacts(rules)).PlanFor({.memory = 5});
  EXPECT_EQ(plan[1], kNoCopy);
  EXPECT_NE(plan[2], kNoCopy);
  EXPECT_THAT(RentPlanner(ProgramFacts(rules)).PlanFor({.memory = 1e6}), Each(kDrop));
}

TEST(RentPlanner, AValueThatIsKeptToItsEndIsNotWrittenToHbm) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(1000);
  builder.AddInstruction(50, {Write(value, 20)});
  builder.AddInstruction(50, {Read(value, 20)});
  for (int k = 0; k < 40; ++k) builder.AddInstruction(50);
  builder.AddInstruction(50, {Read(value, 1)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  const ProgramFacts facts(rules);
  const RentPlanner planner(facts);
  EXPECT_THAT(planner.PlanFor({}), ElementsAre(kNoCopy, kNoCopy, kNoCopy));
  // The last read does not pay for 2,000 cycles: from then on HBM must have it.
  EXPECT_THAT(planner.PlanFor({.memory = 1}), ElementsAre(kCopy, kNoCopy, kDrop));
}

TEST(RentSolver, ProposesDifferentGamesTheBestFirst) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  const SolveOptions options;
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  const std::vector<PlayedPlan> plans = *RentSolver().Propose(ProgramFacts(rules), 0, meter);
  ASSERT_GE(plans.size(), 2);
  ASSERT_LE(plans.size(), RentSolver::kBestRentPlans);
  double last = 0;
  for (const PlayedPlan& plan : plans) {
    EXPECT_EQ(Played(rules, plan.plan).cycles, plan.cycles);
    EXPECT_GT(plan.cycles, last);
    last = plan.cycles;
  }
}

TEST(RentSolver, EndsWithTheBudget) {
  const Program program = WeightsReadThrice();
  const ProgramRules rules = EverythingMatters(program);
  SolveOptions options;
  options.max_games = 1;
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  EXPECT_THAT(*RentSolver().Propose(ProgramFacts(rules), 0, meter), SizeIs(1));
}

}  // namespace
}  // namespace mallocmuzero
