#include "env/solvers/starting_plans.h"

#include <initializer_list>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "env/action.h"
#include "env/program_rules.h"
#include "env/solvers/greedy.h"
#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/rent_plans.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solve.h"
#include "env/solvers/solver.h"
#include "env/solvers/xla_like.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "env/testing/ticking_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

class StartingPlansTest : public ::testing::Test {
 protected:
  int decisions() const {
    Game game(rules_);
    PlayPlan(Plan(rules_.access_count(), Action::kDrop), game);
    return static_cast<int>(game.history().size());
  }

  // The plans of greedy, xla_like and rent if a search has so much time.
  StartingPlans Make(absl::Duration time) const {
    const GreedySolver greedy;
    const XlaLikeSolver xla_like;
    const RentSolver rent;
    SolveOptions options;
    options.clock = testing::TickingClock;
    options.deadline = testing::TickingClock() + time;
    SearchBudget budget(options);
    return *MakeStartingPlans(ProgramFacts(rules_),
                              {{&greedy, 0.1}, {&xla_like, 0.1}, {&rent, 0.2}}, 0, budget);
  }

  const Program program_ = testing::LayeredProgram(20);
  const ProgramRules rules_ = testing::EverythingMatters(program_);
};

TEST_F(StartingPlansTest, EachProposesItsPlansIfThereIsTime) {
  const StartingPlans starts = Make(absl::InfiniteDuration());
  EXPECT_THAT(starts.solvers, ElementsAre("greedy", "xla_like", "rent", "rent", "rent"));
}

TEST_F(StartingPlansTest, EachPlanIsToldAsSoonAsItIsPlayed) {
  const GreedySolver greedy;
  const XlaLikeSolver xla_like;
  for (const Solver* solver : std::initializer_list<const Solver*>{&greedy, &xla_like}) {
    std::vector<double> told;
    SolveOptions options;
    options.clock = testing::TickingClock;
    options.improved = [&](const Plan& /*plan*/, double cycles) { told.push_back(cycles); };
    SearchBudget budget(options);
    BudgetMeter meter(budget);
    const std::vector<PlayedPlan> plans = *solver->Propose(ProgramFacts(rules_), 0, meter);
    ASSERT_EQ(plans.size(), 1);
    EXPECT_THAT(told, ElementsAre(plans[0].cycles)) << solver->name();
  }
}

TEST_F(StartingPlansTest, AGameThatTakesLongerThanItsShareIsGivenUp) {
  // Rent is the last proposer, and takes the time that it needs for one game.
  const StartingPlans starts = Make(absl::Milliseconds(3 * decisions()));
  ASSERT_THAT(starts.solvers, ElementsAre("rent"));
  EXPECT_EQ(starts.plans[0].cycles, Played(rules_, starts.plans[0].plan).cycles);
  EXPECT_LT(starts.plans[0].cycles, rules_.all_hbm_cycles());
}

TEST_F(StartingPlansTest, WithoutTimeForAGameEverythingIsInHbm) {
  for (const int milliseconds : {0, decisions() / 4}) {
    const StartingPlans starts = Make(absl::Milliseconds(milliseconds));
    ASSERT_THAT(starts.solvers, ElementsAre("all_hbm")) << milliseconds;
    EXPECT_EQ(starts.plans[0].cycles, Played(rules_, HbmPlan(program_)).cycles);
  }
}

}  // namespace
}  // namespace mallocmuzero
