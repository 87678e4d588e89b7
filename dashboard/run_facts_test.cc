#include "dashboard/run_facts.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A run of one program whose default saves half of the all-HBM cycles. A return of 0.55 is then
// 1 - 0.45 / 0.5 = 10 % of the default's cycles.
std::vector<v1::TrainMetrics> RunOf(const std::vector<double>& policy_returns) {
  std::vector<v1::TrainMetrics> iterations;
  for (size_t i = 0; i < policy_returns.size(); ++i) {
    v1::TrainMetrics& metrics = iterations.emplace_back();
    metrics.set_iteration(i + 1);
    metrics.set_seconds(10.0 * (static_cast<double>(i) + 1));
    metrics.set_games(100.0 * (static_cast<double>(i) + 1));
    metrics.set_simulations(5000);
    v1::TrainMetrics::Program& program = *metrics.add_programs();
    program.set_name("p");
    program.set_hardware("chip");
    program.set_default_return(0.5);
    program.set_greedy_return(0.525);
    program.set_policy_return(policy_returns[i]);
    program.set_best_return(0.6);
  }
  return iterations;
}

v1::DashboardFinding FirstFinding(const std::vector<v1::TrainMetrics>& run) {
  return MakeFindings(run, MakeMeanGains(run)).front();
}

TEST(RunFacts, PointsAreFewAndEndWithTheLast) {
  EXPECT_TRUE(PointsOf(0).empty());
  EXPECT_THAT(PointsOf(3), ElementsAre(0, 1, 2));
  const std::vector<size_t> points = PointsOf(12345);
  EXPECT_LE(points.size(), kMostPoints);
  EXPECT_GT(points.size(), kMostPoints / 2);
  EXPECT_EQ(points.back(), 12344);
}

TEST(RunFacts, RoundsToEightDigits) {
  EXPECT_EQ(Rounded(123456789.8), 123456790);
  EXPECT_DOUBLE_EQ(Rounded(-0.00012345678912), -0.00012345679);
  // All pages show 10.495003 % as 10.50 %. With six digits it would be 10.495, and then 10.49.
  EXPECT_EQ(absl::StrFormat("%.2f", Rounded(10.495003)), "10.50");
  EXPECT_EQ(Rounded(0), 0);
  EXPECT_TRUE(std::isnan(Rounded(NAN)));
}

TEST(RunFacts, TheUsualIntervalIsTheMedianOfTheLatest) {
  EXPECT_EQ(UsualInterval({}), std::nullopt);
  EXPECT_EQ(UsualInterval(RunOf({0.5})), std::nullopt);
  std::vector<v1::TrainMetrics> run = RunOf(std::vector<double>(21, 0.5));
  EXPECT_EQ(UsualInterval(run), 10);
  // A damaged line makes two intervals unknown. The tenth of nine of 10 s, nine of 30 s and these
  // two has 30 s.
  run[10].set_seconds(std::nan(""));
  for (size_t i = 11; i < run.size(); ++i) run[i].set_seconds(run[9].seconds() + 30.0 * (i - 10.0));
  EXPECT_EQ(UsualInterval(run), 30);
}

TEST(RunFacts, GainsAreAgainstTheDefault) {
  const v1::DashboardGains gains = MakeGains(RunOf({0.5, 0.55}), "chip", "p");
  EXPECT_THAT(gains.policy(), ElementsAre(DoubleNear(0, 1e-9), DoubleNear(10, 1e-9)));
  EXPECT_THAT(gains.best(), ElementsAre(DoubleNear(20, 1e-9), DoubleNear(20, 1e-9)));
  EXPECT_NEAR(gains.greedy(), 5, 1e-9);
  EXPECT_EQ(gains.reference(), "default");
  EXPECT_TRUE(MakeGains(RunOf({0.5}), "chip", "q").seconds().empty());
}

TEST(RunFacts, SelfPlayGoesOnOverIterationsThatDidNotPlayTheProgram) {
  std::vector<v1::TrainMetrics> run = RunOf({0.5, 0.5, 0.5});
  run[1].mutable_programs(0)->set_mean_return(0.55);
  const v1::DashboardGains gains = MakeGains(run, "chip", "p");
  EXPECT_TRUE(std::isnan(gains.self_play(0)));
  EXPECT_NEAR(gains.self_play(2), 10, 1e-9);
}

TEST(RunFacts, CurvesAreRatesBetweenIterations) {
  const v1::DashboardCurves curves = MakeCurves(RunOf({0.5, 0.5}));
  ASSERT_EQ(curves.games_per_second_size(), 2);
  EXPECT_TRUE(std::isnan(curves.games_per_second(0)));
  EXPECT_EQ(curves.games_per_second(1), 10);  // 100 games in 10 s
  EXPECT_EQ(curves.simulations_per_second(1), 500);
  EXPECT_TRUE(std::isnan(curves.policy_loss(1)));
}

TEST(RunFacts, SimulationsArePerSecondOfPlay) {
  std::vector<v1::TrainMetrics> run = RunOf({0.5, 0.5});
  for (v1::TrainMetrics& metrics : run) {
    metrics.set_play_seconds(2);
    metrics.set_learn_seconds(6);
  }
  const v1::DashboardCurves curves = MakeCurves(run);
  EXPECT_EQ(curves.simulations_per_second(1), 2500);  // 5000 in 2 s
  EXPECT_EQ(curves.playing_percent(1), 25);
}

TEST(RunFacts, SaysThatARunLearns) {
  // The means of the last two quarters differ by four points: 8 % and 12 %.
  const v1::DashboardFinding finding =
      FirstFinding(RunOf({0.5, 0.5, 0.5, 0.5, 0.54, 0.54, 0.56, 0.56}));
  EXPECT_EQ(finding.level(), v1::DashboardFinding::GOOD);
  EXPECT_EQ(finding.title(), "Learning");
  EXPECT_THAT(finding.text(), HasSubstr("saves 12.00 % of the cycles of the default"));
  EXPECT_THAT(finding.text(), HasSubstr("4.00 points more"));
}

TEST(RunFacts, ThinnedLinesChangeNoFinding) {
  // The policy gains half a point in each quarter. Few lines of the earlier half are left.
  std::vector<double> returns;
  for (int i = 0; i < 400; ++i) returns.push_back(0.5 + 0.0025 * (i / 100.0));
  std::vector<v1::TrainMetrics> run = RunOf(returns);
  const v1::DashboardFinding whole = FirstFinding(run);
  EXPECT_THAT(whole.text(), HasSubstr("0.50 points more"));
  std::vector<v1::TrainMetrics> thinned;
  for (size_t i = 0; i < run.size(); ++i) {
    if (i >= 380 || i % 20 == 0) thinned.push_back(run[i]);
  }
  EXPECT_EQ(FirstFinding(thinned).title(), whole.title());
  const v1::DashboardCurves curves = MakeCurves(thinned);
  for (const double rate : curves.simulations_per_second()) {
    EXPECT_TRUE(std::isnan(rate) || std::abs(rate - 500) < 1e-3) << rate;
  }
}

TEST(RunFacts, APolicyThatIsNotEvaluatedDoesNotHideThatSelfPlayLearns) {
  std::vector<v1::TrainMetrics> run = RunOf(std::vector<double>(40, 0.5));
  for (size_t i = 0; i < run.size(); ++i) {
    run[i].mutable_programs(0)->set_mean_return(0.5 + 0.002 * static_cast<double>(i));
  }
  const v1::DashboardFinding finding = FirstFinding(run);
  EXPECT_EQ(finding.title(), "Learning");
  EXPECT_THAT(finding.text(), HasSubstr("Self-play saves"));
}

TEST(RunFacts, SaysThatARunIsLevelOrGetsWorse) {
  EXPECT_EQ(FirstFinding(RunOf(std::vector<double>(8, 0.56))).title(), "Level");
  const v1::DashboardFinding worse =
      FirstFinding(RunOf({0.56, 0.56, 0.56, 0.56, 0.56, 0.56, 0.55, 0.55}));
  EXPECT_EQ(worse.level(), v1::DashboardFinding::WARNING);
  EXPECT_EQ(worse.title(), "Getting worse");
  EXPECT_THAT(worse.text(), HasSubstr("2.00 points less"));
}

TEST(RunFacts, SaysThatARunIsBelowTheGreedySolver) {
  const v1::DashboardFinding finding = FirstFinding(RunOf(std::vector<double>(8, 0.51)));
  EXPECT_EQ(finding.level(), v1::DashboardFinding::WARNING);
  EXPECT_THAT(finding.text(), HasSubstr("The greedy solver saves 5.00 %"));
}

TEST(RunFacts, SaysWhenTheBestGamesWereFound) {
  std::vector<v1::TrainMetrics> run = RunOf({0.5, 0.5, 0.5});
  run[2].mutable_programs(0)->set_best_return(0.61);
  EXPECT_THAT(MakeFindings(run, MakeMeanGains(run))[1].text(),
              HasSubstr("The best game saves 22.00 %. The last better game was found in the latest "
                        "iteration."));
  run[1].mutable_programs(0)->set_best_return(0.61);
  EXPECT_THAT(MakeFindings(run, MakeMeanGains(run))[1].text(),
              HasSubstr("found 10.0 seconds before the latest iteration."));
  run[2].set_seconds(run[1].seconds() + 36000);
  EXPECT_THAT(MakeFindings(run, MakeMeanGains(run))[1].text(),
              HasSubstr("found 10.0 hours before the latest iteration."));
}

TEST(RunFacts, SaysWhichHalfOfAnIterationIsSlower) {
  const auto verdict = [](double playing) {
    std::vector<v1::TrainMetrics> run = RunOf({0.5});
    run[0].set_play_seconds(playing);
    run[0].set_learn_seconds(1 - playing);
    return MakeFindings(run, MakeMeanGains(run)).back().text();
  };
  EXPECT_THAT(verdict(0.36), HasSubstr("Learning takes most of the time. Of the time of both, 36 % "
                                       "is playing and 64 % is learning"));
  EXPECT_THAT(verdict(0.45), HasSubstr("about the same time"));
  EXPECT_THAT(verdict(0.61), HasSubstr("Playing takes most of the time"));
}

TEST(RunFacts, SaysThatItIsTooEarlyToTell) {
  EXPECT_EQ(FirstFinding(RunOf({0.5, 0.6})).title(), "Starting");
  EXPECT_EQ(FirstFinding({}).title(), "Starting");
}

TEST(RunFacts, RowsAreSortedByGain) {
  std::vector<v1::TrainMetrics> run = RunOf({0.55});
  v1::TrainMetrics::Program& better = *run[0].add_programs();
  better = run[0].programs(0);
  better.set_name("better");
  better.set_best_return(0.7);
  const std::vector<v1::DashboardProgramRow> rows = MakeProgramRows(run);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].name(), "better");
  EXPECT_NEAR(rows[0].best(), 40, 1e-9);
  EXPECT_FALSE(rows[0].has_self_play());
}

}  // namespace
}  // namespace mallocmuzero
