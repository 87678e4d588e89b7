#include "env/solvers/search_budget.h"
#include "base/steady_clock.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/index_matching.h"
#include "env/action.h"
#include "env/solvers/plan.h"
#include "env/solvers/solve.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

TEST(BudgetMeter, IsSpentAfterTheLastGame) {
  SolveOptions options;
  options.max_games = 100;
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  for (int game = 1; game < 100; ++game) ASSERT_FALSE(meter.CountGame()) << game;
  EXPECT_EQ(meter.games_left(), 1);
  EXPECT_TRUE(meter.CountGame());
  EXPECT_TRUE(meter.CountGame());
}

TEST(BudgetMeter, IsOverWhenTheTimeEndsAndNotWhenTheGamesDo) {
  SolveOptions options;
  options.max_games = 1;
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  EXPECT_TRUE(meter.CountGame());
  EXPECT_FALSE(meter.is_over());
  options.deadline = absl::InfinitePast();
  EXPECT_TRUE(BudgetMeter(budget).is_over());
}

TEST(BudgetMeter, LeavesTheGamesThatItDidNotPlayToTheNextOne) {
  SolveOptions options;
  options.max_games = 10;
  SearchBudget budget(options);
  {
    BudgetMeter meter(budget);
    for (int game = 0; game < 7; ++game) meter.CountGame();
  }
  EXPECT_EQ(budget.games(), 7);
  EXPECT_FALSE(budget.spent());
  {
    BudgetMeter meter(budget);
    EXPECT_FALSE(meter.CountGame());
    EXPECT_FALSE(meter.CountGame());
    EXPECT_TRUE(meter.CountGame());
    meter.CountGame();  // one game too many is counted as well
  }
  EXPECT_EQ(budget.games(), 11);
  EXPECT_TRUE(budget.spent());
  EXPECT_TRUE(BudgetMeter(budget).spent());
}

TEST(BudgetMeter, ThreadsPlayAsManyGamesAsThereAreTogether) {
  SolveOptions options;
  options.max_games = 100'000;
  SearchBudget budget(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&budget] {
      BudgetMeter meter(budget);
      while (!meter.spent()) meter.CountGame();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(budget.games(), 100'000);
}

TEST(BudgetMeter, AShareOfTheTimeEndsBeforeTheSearchDoes) {
  SolveOptions options;
  options.deadline = SteadyNow() + absl::Seconds(1000);
  SearchBudget budget(options);
  BudgetMeter none(budget, 0);
  EXPECT_TRUE(none.spent());
  EXPECT_FALSE(budget.spent());
  BudgetMeter half(budget, 0.5);
  EXPECT_FALSE(half.CountStep());
  EXPECT_LT(half.deadline(), options.deadline - absl::Seconds(400));
}

// A clock that a test moves.
absl::Time& TimeOfTheTest() {
  static absl::Time time = absl::UnixEpoch();
  return time;
}

absl::Time ClockOfTheTest() { return TimeOfTheTest(); }

TEST(SearchBudget, AsksWhetherToStopAboutOnceAMillisecond) {
  uint64_t asked = 0;
  SolveOptions options;
  options.stop = [&asked] {
    ++asked;
    return false;
  };
  options.clock = ClockOfTheTest;
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  // 100 milliseconds of short steps.
  for (int step = 0; step < 100'000; ++step) {
    TimeOfTheTest() += absl::Microseconds(1);
    meter.CountStep();
  }
  EXPECT_GE(asked, 90);
  EXPECT_LE(asked, 110);
}

// Such as tries that play nothing, and then games of a long program.
TEST(BudgetMeter, StepsThatBecomeSlowDoNotMissTheDeadline) {
  SolveOptions options;
  options.clock = ClockOfTheTest;
  options.deadline = TimeOfTheTest() + absl::Milliseconds(200);
  SearchBudget budget(options);
  BudgetMeter meter(budget);
  // 100 milliseconds of short steps.
  for (int step = 0; step < 1'000'000; ++step) {
    TimeOfTheTest() += absl::Nanoseconds(100);
    ASSERT_FALSE(meter.CountStep()) << step;
  }
  while (TimeOfTheTest() < options.deadline) {
    TimeOfTheTest() += absl::Milliseconds(10);
    meter.CountGame();
  }
  EXPECT_TRUE(meter.spent());
}

TEST(SearchBudget, TheDeadlineIsNotMissedWhileAnotherThreadIsAskedToStop) {
  SolveOptions options;
  options.deadline = absl::InfinitePast();
  SearchBudget* other = nullptr;
  bool ended = false;
  options.stop = [&] {
    std::thread([&] { ended = other->Check(SteadyNow()); }).join();
    return false;
  };
  SearchBudget budget(options);
  other = &budget;
  budget.Check(absl::InfinitePast());
  EXPECT_TRUE(ended);
}

TEST(SearchBudget, ReportsWhatIsBetterAndTheEnd) {
  std::vector<double> reported;
  SolveOptions options;
  options.progress = [&](const SolveProgress& p) { reported.push_back(p.best_cycles); };
  SearchBudget budget(options);
  const absl::Time now = SteadyNow();
  budget.Check(now);  // nothing was found yet
  budget.Found(20);
  budget.Check(now);
  budget.Check(now);
  budget.Found(30);
  budget.Check(now);
  budget.Found(10);
  budget.Check(now);
  budget.Finish();
  EXPECT_THAT(reported, ElementsAre(20, 10, 10));
}

TEST(SearchBudget, HandsOutEachBetterPlanAfterAPause) {
  std::vector<double> improved;
  SolveOptions options;
  options.improved = [&](const Plan& plan, double cycles) {
    EXPECT_THAT(plan, ElementsAre(Action::kDrop));
    improved.push_back(cycles);
  };
  SearchBudget budget(options);
  const absl::Time now = SteadyNow();
  budget.Check(now);  // nothing was found yet
  budget.Found(PlayedPlan{.plan = {Action::kDrop}, .cycles = 20});
  budget.Check(now);
  budget.Found(PlayedPlan{.plan = {Action::kDrop}, .cycles = 10});
  budget.Found(PlayedPlan{.plan = {Action::kCopy}, .cycles = 30});
  budget.Check(now);  // too soon
  EXPECT_THAT(improved, ElementsAre(20));
  budget.Check(now + absl::Hours(1));
  budget.Check(now + absl::Hours(2));
  EXPECT_THAT(improved, ElementsAre(20, 10));
}

}  // namespace
}  // namespace mallocmuzero
