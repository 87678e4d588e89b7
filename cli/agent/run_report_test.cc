#include "cli/agent/run_report.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Two programs, the second without a default; the first is not played in the last iteration, which
// learned nothing.
std::vector<v1::TrainMetrics> TwoIterations() {
  std::vector<v1::TrainMetrics> iterations(2);
  iterations[0].set_iteration(1);
  iterations[0].mutable_losses()->set_policy(0.5);
  iterations[1].set_iteration(2);
  iterations[1].set_seconds(90);
  iterations[1].set_games(1234);
  for (v1::TrainMetrics& metrics : iterations) {
    v1::TrainMetrics::Program& first = *metrics.add_programs();
    first.set_name("a|b");
    first.set_default_return(0.5);
    first.set_best_return(0.55);
    first.set_greedy_return(0.45);
    v1::TrainMetrics::Program& second = *metrics.add_programs();
    second.set_name("bare");
    second.set_best_return(0.3);
    second.set_policy_return(0.25);
  }
  iterations[0].mutable_programs(0)->set_mean_return(0.4);
  return iterations;
}

TEST(MakeRunReport, GivesTheLastFigureOfEachProgram) {
  const v1::RunReport report = MakeRunReport("runs/a", "out", TwoIterations());
  EXPECT_EQ(report.returns(), "out/returns.svg");
  EXPECT_EQ(report.iterations(), 2);
  EXPECT_EQ(report.policy_loss(), 0.5);
  ASSERT_EQ(report.programs_size(), 2);
  const v1::RunReport::Program& bare = report.programs(0);
  EXPECT_EQ(bare.program(), "bare");
  EXPECT_FALSE(bare.against_default());
  EXPECT_DOUBLE_EQ(bare.best(), 0.3);
  EXPECT_DOUBLE_EQ(bare.policy(), 0.25);
  EXPECT_FALSE(bare.has_self_play());
  const v1::RunReport::Program& other = report.programs(1);
  EXPECT_TRUE(other.against_default());
  EXPECT_NEAR(other.best(), 0.1, 1e-12);        // 0.45 instead of 0.5
  EXPECT_NEAR(other.greedy(), -0.1, 1e-12);     // 0.55 instead of 0.5
  EXPECT_NEAR(other.self_play(), -0.2, 1e-12);  // 0.6 instead of 0.5
  EXPECT_FALSE(other.has_policy());
}

TEST(MakeRunReport, HasNoLossesBeforeTheFirstUpdate) {
  std::vector<v1::TrainMetrics> iterations = TwoIterations();
  iterations[0].clear_losses();
  const v1::RunReport report = MakeRunReport("run", "out", iterations);
  EXPECT_FALSE(report.has_policy_loss());
  EXPECT_THAT(RunReportText(report), Not(HasSubstr("policy loss")));
}

TEST(MakeRunReport, FollowsAProgramThroughOtherListsOfPrograms) {
  std::vector<v1::TrainMetrics> iterations = TwoIterations();
  iterations[0].mutable_programs()->SwapElements(0, 1);
  const v1::RunReport report = MakeRunReport("run", "out", iterations);
  EXPECT_FALSE(report.programs(0).has_self_play());          // bare
  EXPECT_NEAR(report.programs(1).self_play(), -0.2, 1e-12);  // a|b
}

TEST(RunReportText, HasNoColumnForThePolicyWhereNothingIsKnownOfIt) {
  std::vector<v1::TrainMetrics> iterations = TwoIterations();
  EXPECT_THAT(RunReportText(MakeRunReport("run", "out", iterations)), HasSubstr("  policy  "));
  for (v1::TrainMetrics& metrics : iterations) metrics.mutable_programs(1)->clear_policy_return();
  const v1::RunReport report = MakeRunReport("run", "out", iterations);
  EXPECT_THAT(RunReportText(report), Not(HasSubstr("  policy  ")));
  EXPECT_THAT(RunReportMarkdown(report), Not(HasSubstr("policy the")));
}

TEST(MakeRunReport, HasNoBestGameBeforeTheFirst) {
  std::vector<v1::TrainMetrics> iterations = TwoIterations();
  iterations[1].mutable_programs(1)->clear_best_return();
  const v1::RunReport report = MakeRunReport("run", "out", iterations);
  EXPECT_EQ(report.programs(1).program(), "bare");
  EXPECT_FALSE(report.programs(1).has_best());
  // Neither 0 % nor any other figure stands for it: policy, then nothing, then greedy.
  EXPECT_THAT(RunReportText(report), ContainsRegex("bare +\\+25.00 % +\\+0.00 % "));
}

TEST(RunReportMarkdown, ShowsPicturesBesideItAndATable) {
  const v1::RunReport report = MakeRunReport("runs/a", "some/where", TwoIterations());
  EXPECT_THAT(RunReportMarkdown(report),
              AllOf(HasSubstr("# Training run runs/a\n"), HasSubstr("![Returns](returns.svg)\n"),
                    HasSubstr("![Losses](losses.svg)\n"), HasSubstr("![Speed](speed.svg)\n"),
                    HasSubstr("a\\|b"), HasSubstr("+10.00 %"), HasSubstr("1,234")));
}

TEST(RunReportText, NamesThePageAndTheReference) {
  const v1::RunReport report = MakeRunReport("runs/a", "some/where", TwoIterations());
  EXPECT_THAT(RunReportText(report),
              AllOf(HasSubstr("1.5 minutes"), HasSubstr("-20.00 %"), HasSubstr("all in HBM"),
                    HasSubstr("some/where/report.md")));
}

}  // namespace
}  // namespace mallocmuzero::cli
