// Solvers against each other and against the truth, on random programs.

#include "env/solvers/solve.h"
#include "base/steady_clock.h"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solver.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/random_game_program.h"
#include "env/testing/ticking_clock.h"
#include "env/testing/tiny_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

constexpr uint64_t kPrograms = 40;

SolveOptions Games(uint64_t count) {
  SolveOptions options;
  options.max_games = count;
  options.seed = 1;
  return options;
}

TEST(Solve, EverySolversMappingIsValidAndCostsWhatItSays) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = ProgramRules::Create(program);
    for (const absl::string_view name : {"all_hbm", "greedy", "xla_like", "local_search"}) {
      const absl::StatusOr<Solution> solution = Solve(name, rules, Games(200));
      ASSERT_TRUE(solution.ok()) << solution.status();
      EXPECT_THAT(Validate(program, solution->mapping), IsEmpty()) << name << ", seed " << seed;
      EXPECT_DOUBLE_EQ(Simulate(program, solution->mapping).total_cycles, solution->cycles)
          << name << ", seed " << seed;
    }
  }
}

TEST(Solve, LocalSearchIsNoWorseThanItsStarts) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = ProgramRules::Create(program);
    const double found = Solve("local_search", rules, Games(500))->cycles;
    EXPECT_LE(found, Solve("greedy", rules, Games(1))->cycles * (1 + 1e-12)) << "seed " << seed;
    EXPECT_LE(found, Solve("xla_like", rules, Games(1))->cycles * (1 + 1e-12)) << "seed " << seed;
  }
}

TEST(Solve, TheSameSeedGivesTheSameAnswer) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::TinyProgram(random, 16);
    const ProgramRules rules = ProgramRules::Create(program);
    for (const absl::string_view name : SolverNames()) {
      if (name == "default" || name == "agent") continue;
      const absl::StatusOr<Solution> one = Solve(name, rules, Games(300));
      const absl::StatusOr<Solution> two = Solve(name, rules, Games(300));
      ASSERT_TRUE(one.ok() && two.ok()) << one.status();
      EXPECT_EQ(one->actions, two->actions) << name;
      EXPECT_EQ(one->mapping, two->mapping) << name;
      EXPECT_EQ(one->games, two->games) << name;
    }
  }
}

TEST(Solve, ThePortfolioIsNoWorseThanItsMembers) {
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = ProgramRules::Create(program);
    const absl::StatusOr<Solution> portfolio = Solve("portfolio", rules, Games(300));
    ASSERT_TRUE(portfolio.ok()) << portfolio.status();
    for (const absl::string_view name : {"all_hbm", "greedy", "xla_like", "local_search"}) {
      EXPECT_LE(portfolio->cycles, Solve(name, rules, Games(300))->cycles * (1 + 1e-12))
          << name << ", seed " << seed;
    }
  }
}

TEST(Solve, ThePortfolioIsNoWorseThanTheCompiler) {
  const std::vector<std::string> paths = testing::CorpusPaths(MALLOCMUZERO_SOURCE_DIR);
  ASSERT_GE(paths.size(), 50);
  for (size_t k = 0; k < paths.size(); k += 8) {
    const absl::StatusOr<Program> program = LoadProgram(paths[k]);
    ASSERT_TRUE(program.ok()) << program.status();
    const ProgramRules rules = ProgramRules::Create(*program);
    ASSERT_NE(program->baseline(), nullptr);
    const absl::StatusOr<Solution> portfolio = Solve("portfolio", rules, Games(1));
    ASSERT_TRUE(portfolio.ok()) << portfolio.status();
    EXPECT_LE(portfolio->cycles, program->baseline()->compiled_cycles) << paths[k];
  }
}

TEST(Solve, SearchesOnSeveralThreadsFindAValidMappingNoWorseThanOne) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::TinyProgram(random, 16);
    const ProgramRules rules = ProgramRules::Create(program);
    const double optimum = Solve("exhaustive", rules, {})->cycles;
    for (const absl::string_view name : {"local_search", "portfolio"}) {
      SolveOptions options = Games(8000);
      options.threads = 4;
      double shown = 0;
      options.progress = [&shown](const SolveProgress& progress) { shown = progress.best_cycles; };
      const absl::StatusOr<Solution> solution = Solve(name, rules, options);
      ASSERT_TRUE(solution.ok()) << solution.status();
      EXPECT_THAT(Validate(program, solution->mapping), IsEmpty()) << name << ", seed " << seed;
      EXPECT_LE(solution->cycles, optimum * (1 + 1e-9)) << name << ", seed " << seed;
      EXPECT_DOUBLE_EQ(shown, solution->cycles) << name << ", seed " << seed;
    }
  }
}

// A search plays no more than the game at hand and a start or two.
constexpr uint64_t kGamesAfterTheEnd = 4;

TEST(Solve, AllThreadsEndWhenOneIsToldToStop) {
  std::mt19937_64 random(6);
  const Program program = testing::RandomGameProgram(random);
  const ProgramRules rules = ProgramRules::Create(program);
  SolveOptions options;
  options.threads = 4;
  uint64_t asked = 0;  // by one thread at a time
  options.stop = [&asked] { return ++asked >= 20; };
  const absl::StatusOr<Solution> stopped = Solve("local_search", rules, options);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(asked, 20);
  EXPECT_TRUE(stopped->interrupted);
}

TEST(Solve, EndsSoonAfterItIsToldToStop) {
  std::mt19937_64 random(6);
  const Program program = testing::TinyProgram(random, 16);
  const ProgramRules rules = ProgramRules::Create(program);
  for (const absl::string_view name : {"local_search", "portfolio"}) {
    for (const uint64_t calls : {1, 2, 5, 20}) {
      uint64_t asked = 0;
      absl::Time told;
      SolveOptions options;
      options.clock = testing::TickingClock;
      options.stop = [&] {
        told = testing::TickingClock();
        return ++asked >= calls;
      };
      const absl::StatusOr<Solution> stopped = Solve(name, rules, options);
      EXPECT_LT(testing::TickingClock() - told, absl::Seconds(1)) << name;
      ASSERT_TRUE(stopped.ok()) << stopped.status();
      EXPECT_EQ(asked, calls) << name;  // and not again once it said so
      EXPECT_TRUE(stopped->interrupted) << name;
      EXPECT_THAT(Validate(program, stopped->mapping), IsEmpty()) << name;
    }
  }
}

TEST(Solve, EndsSoonAfterItsGamesArePlayed) {
  std::mt19937_64 random(6);
  const Program program = testing::RandomGameProgram(random);
  const ProgramRules rules = ProgramRules::Create(program);
  for (const absl::string_view name : {"local_search", "portfolio"}) {
    for (const uint64_t games : {1, 2, 9, 100, 500}) {
      const absl::StatusOr<Solution> solution = Solve(name, rules, Games(games));
      ASSERT_TRUE(solution.ok()) << solution.status();
      EXPECT_GE(solution->games, games) << name;
      EXPECT_LE(solution->games, games + kGamesAfterTheEnd) << name;
      EXPECT_FALSE(solution->interrupted) << name;
    }
  }
}

TEST(Solve, AnswersEvenAfterTheDeadline) {
  std::mt19937_64 random(6);
  const Program program = testing::RandomGameProgram(random);
  const ProgramRules rules = ProgramRules::Create(program);
  for (const absl::string_view name : {"greedy", "xla_like", "local_search", "portfolio"}) {
    SolveOptions options;
    options.deadline = absl::InfinitePast();
    const absl::StatusOr<Solution> solution = Solve(name, rules, options);
    ASSERT_TRUE(solution.ok()) << solution.status();
    EXPECT_LE(solution->games, 1 + kGamesAfterTheEnd) << name;
    EXPECT_FALSE(solution->interrupted) << name;
    EXPECT_THAT(Validate(program, solution->mapping), IsEmpty()) << name;
    // All but the portfolio, which knows everything in HBM without a game, play a whole game.
    EXPECT_EQ(solution->actions.empty(), name == "portfolio") << name;
  }
}

TEST(Solve, SearchesUpToTheDeadline) {
  std::mt19937_64 random(6);
  const Program program = testing::RandomGameProgram(random);
  const ProgramRules rules = ProgramRules::Create(program);
  SolveOptions options;
  options.clock = testing::TickingClock;
  options.deadline = testing::TickingClock() + absl::Seconds(2);
  const absl::StatusOr<Solution> solution = Solve("local_search", rules, options);
  EXPECT_GE(testing::TickingClock(), options.deadline);
  EXPECT_GT(solution->games, 1);
}

// A solver of whole games that are given to it.
class Player : public Solver {
 public:
  explicit Player(Plan plan) : plan_(std::move(plan)) {}

  absl::string_view name() const override { return "agent"; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t /*seed*/,
                                                  BudgetMeter& meter) const override {
    meter.CountGame();
    deadline_ = meter.deadline();
    return std::vector<PlayedPlan>{Played(facts.rules(), plan_)};
  }

  absl::Time deadline() const { return deadline_; }

 private:
  const Plan plan_;
  mutable absl::Time deadline_;
};

TEST(Solve, TheAgentsGamesAreStartsOfTheAgentAndThePortfolio) {
  int programs = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::TinyProgram(random, 16);
    const ProgramRules rules = ProgramRules::Create(program);
    const double optimum = Solve("exhaustive", rules, {})->cycles;
    // Greedy, xla_like and one more game; programs for which these find the optimum say nothing.
    SolveOptions options = Games(3);
    if (Solve("portfolio", rules, options)->cycles <= optimum * (1 + 1e-9)) continue;
    ++programs;
    const Player agent(PlanOf(PlayActions(rules, Solve("exhaustive", rules, {})->actions)));
    options.agent = &agent;
    for (const absl::string_view name : {"agent", "portfolio"}) {
      const absl::StatusOr<Solution> solution = Solve(name, rules, options);
      ASSERT_TRUE(solution.ok()) << solution.status();
      EXPECT_EQ(solution->solver, "agent");
      EXPECT_EQ(solution->cycles, optimum);
    }
    EXPECT_GT(Solve("local_search", rules, options)->cycles, optimum);
  }
  EXPECT_GE(programs, 5);
}

TEST(Solve, TheAgentPlaysForAShareOfTheTime) {
  std::mt19937_64 random(1000);
  const Program program = testing::TinyProgram(random, 16);
  const ProgramRules rules = ProgramRules::Create(program);
  const Player agent(Plan(rules.access_count(), Action::kDrop));
  SolveOptions options = Games(100);
  options.agent = &agent;
  options.deadline = SteadyNow() + absl::Seconds(1000);
  ASSERT_TRUE(Solve("portfolio", rules, options).ok());
  EXPECT_LT(agent.deadline(), options.deadline - absl::Seconds(800));
  EXPECT_GT(agent.deadline(), options.deadline - absl::Seconds(950));
}

TEST(Solve, TheAgentIsRefusedWithoutANetwork) {
  std::mt19937_64 random(7);
  const Program program = testing::RandomGameProgram(random);
  const ProgramRules rules = ProgramRules::Create(program);
  EXPECT_EQ(Solve("agent", rules, Games(1)).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Solve, AnUnknownNameIsRefused) {
  std::mt19937_64 random(7);
  const Program program = testing::RandomGameProgram(random);
  const ProgramRules rules = ProgramRules::Create(program);
  EXPECT_EQ(Solve("magic", rules, Games(1)).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero
