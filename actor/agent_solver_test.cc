#include "actor/agent_solver.h"

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "env/program_set.h"
#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solve.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class AgentSolverTest : public ::testing::Test {
 protected:
  AgentSolverTest() {
    std::mt19937_64 random(3);
    while (program_ == nullptr) {
      std::unique_ptr<PlayedProgram> program =
          PlayedProgram::Create(testing::RandomGameProgram(random));
      if (program->decisions() > 12) program_ = std::move(program);
    }
    const auto network = Network::Create(*NetworkPreset("tiny"), 1);
    SearchConfig search;
    search.simulations = 4;
    agent_ =
        std::make_unique<AgentSolver>(*program_, OwnBatches(*(*network)->Snapshot({})), search);
  }

  std::vector<PlayedPlan> Propose(const SolveOptions& options) {
    SearchBudget budget(options);
    std::vector<PlayedPlan> plans;
    {
      BudgetMeter meter(budget);
      plans = *agent_->Propose(ProgramFacts(program_->rules()), options.seed, meter);
    }
    games_ = budget.games();
    return plans;
  }

  std::unique_ptr<PlayedProgram> program_;
  std::unique_ptr<AgentSolver> agent_;
  uint64_t games_ = 0;  // of the last Propose
};

TEST_F(AgentSolverTest, ProposesPlansThatPlayItsGames) {
  SolveOptions options;
  options.max_games = 20;
  const std::vector<PlayedPlan> plans = Propose(options);
  EXPECT_THAT(plans, Not(IsEmpty()));
  EXPECT_EQ(games_, 20);
  for (const PlayedPlan& plan : plans) {
    EXPECT_EQ(Played(program_->rules(), plan.plan).cycles, plan.cycles);
  }
}

TEST_F(AgentSolverTest, EndsWithoutADeadline) {
  EXPECT_THAT(Propose({}), Not(IsEmpty()));
  EXPECT_EQ(games_, 64);
}

TEST_F(AgentSolverTest, EndsSoonAfterTheDeadline) {
  SolveOptions options;
  const absl::Time start = SteadyNow();
  options.deadline = start + absl::Seconds(1);  // the first round ends before, also when busy
  EXPECT_THAT(Propose(options), Not(IsEmpty()));
  EXPECT_LT(SteadyNow() - start, absl::Seconds(30));
}

TEST_F(AgentSolverTest, ProposesNothingWhenToldToStopAtOnce) {
  SolveOptions options;
  options.stop = [] { return true; };
  EXPECT_THAT(Propose(options), IsEmpty());
}

TEST_F(AgentSolverTest, LocalSearchGoesOnFromItsGames) {
  SolveOptions options;
  options.max_games = 200;
  options.agent = agent_.get();
  const absl::StatusOr<Solution> solution = Solve("agent", program_->rules(), options);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_EQ(solution->solver, "agent");
  EXPECT_LE(solution->cycles, BestOf(Propose(options)).cycles);
}

}  // namespace
}  // namespace mallocmuzero
