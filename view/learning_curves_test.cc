#include "view/learning_curves.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "view/gains.h"
#include "view/testing/xml.h"

namespace mallocmuzero::view {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::Parsed;
using testing::Texts;

using Program = v1::TrainMetrics::Program;

Program MakeProgram(const std::string& name, double best) {
  Program program;
  program.set_name(name);
  program.set_best_return(best);
  program.set_default_return(0.2);
  program.set_greedy_return(0.2);
  return program;
}

// `count` iterations, of a minute, 10 updates and 30 games each.
std::vector<v1::TrainMetrics> MakeRun(int count, int programs) {
  std::vector<v1::TrainMetrics> run(count);
  for (int i = 0; i < count; ++i) {
    v1::TrainMetrics& metrics = run[i];
    metrics.set_iteration(i + 1);
    metrics.set_seconds(60 * (i + 1));
    metrics.set_games(30 * (i + 1));
    metrics.set_updates(10 * i);
    metrics.set_simulations(1000);
    metrics.set_play_seconds(10);
    metrics.set_learn_seconds(30);
    metrics.set_batch_fill(7);
    if (i > 0) metrics.mutable_losses()->set_policy(1.0 / i);
    for (int p = 0; p < programs; ++p) {
      *metrics.add_programs() = MakeProgram(absl::StrCat("p", p), 0.2 + 0.02 * p);
    }
  }
  return run;
}

TEST(NameOnChip, SaysWhichChip) {
  EXPECT_EQ(NameOnChip("gpt", ""), "gpt");
  EXPECT_EQ(NameOnChip("gpt", "tpu_v5e"), "gpt on tpu_v5e");
}

TEST(CyclesSaved, IsOfTheDefaultOrOfAllInHbm) {
  Program program;
  program.set_default_return(0.2);
  EXPECT_NEAR(CyclesSaved(program, 0.28), 0.1, 1e-12);  // 0.72 instead of 0.8
  EXPECT_DOUBLE_EQ(CyclesSaved(program, 0), -0.25);     // 1 instead of 0.8
  program.clear_default_return();
  EXPECT_DOUBLE_EQ(CyclesSaved(program, 0.28), 0.28);
}

TEST(ProgramsByGain, ComparesWhatIsSavedAgainstTheDefault) {
  v1::TrainMetrics metrics;
  *metrics.add_programs() = MakeProgram("a", 0.3);
  *metrics.add_programs() = MakeProgram("b", 0.5);
  *metrics.add_programs() = MakeProgram("c", 0.5);
  metrics.mutable_programs(2)->set_default_return(0.49);
  EXPECT_THAT(ProgramsByGain(metrics), ElementsAre(1, 0, 2));
}

TEST(ProgramsByGain, PutsThoseWithoutAGameLast) {
  v1::TrainMetrics metrics;
  *metrics.add_programs() = MakeProgram("none", 0.9);
  metrics.mutable_programs(0)->clear_best_return();
  *metrics.add_programs() = MakeProgram("bad", -3);
  EXPECT_THAT(ProgramsByGain(metrics), ElementsAre(1, 0));
}

TEST(ReturnsSvg, TheBestGameBeginsWhereThereIsOne) {
  std::vector<v1::TrainMetrics> run = MakeRun(3, 1);
  run[0].mutable_programs(0)->clear_best_return();
  // One segment, from the second iteration to the third.
  const testing::Element root = Parsed(ReturnsSvg("run", run));
  const std::vector<const testing::Element*> lines = root.Find("path", "line green");
  ASSERT_FALSE(lines.empty());
  const std::string& path = lines[0]->attributes.at("d");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'M'), 1);
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 1);
  for (v1::TrainMetrics& metrics : run) metrics.mutable_programs(0)->clear_best_return();
  EXPECT_THAT(Texts(Parsed(ReturnsSvg("run", run))), Not(Contains(HasSubstr("best +"))));
}

TEST(ReturnsSvg, ShowsOneProgramWithItsLastFigures) {
  std::vector<v1::TrainMetrics> run = MakeRun(3, 1);
  run.back().mutable_programs(0)->set_best_return(0.28);
  run.back().mutable_programs(0)->set_policy_return(0.24);
  run.back().mutable_programs(0)->set_mean_return(0.22);
  const testing::Element root = Parsed(ReturnsSvg("/home/me/runs/a/", run));
  EXPECT_EQ(root.Find("g", "chart").size(), 1);
  EXPECT_THAT(Texts(root),
              IsSupersetOf({"runs/a: cycles saved against the default", "p0",
                            "3 iterations, 90 games, 20 updates in 3.0 minutes",
                            "best +10.00 %, policy +5.00 %", "time, minutes", "cycles saved, %"}));
  ASSERT_EQ(root.Find("g", "legend").size(), 1);
  EXPECT_THAT(
      Texts(*root.Find("g", "legend")[0]),
      ElementsAre("self-play, mean", "best game", "policy with search", "greedy", "default"));
}

TEST(ReturnsSvg, JoinsSelfPlayOverIterationsThatDidNotPlay) {
  std::vector<v1::TrainMetrics> run = MakeRun(4, 1);
  run[0].mutable_programs(0)->set_mean_return(0.2);
  run[3].mutable_programs(0)->set_mean_return(0.2);
  const testing::Element root = Parsed(ReturnsSvg("run", run));
  const testing::Element& chart = *root.Find("g", "chart")[0];
  // The line goes from a quarter of the way (x is from 86 to 862) to the end. Zero is in the middle
  // of -1 to 1.
  ASSERT_EQ(chart.Find("path", "line orange").size(), 1);
  EXPECT_EQ(chart.Find("path", "line orange")[0]->attributes.at("d"), "M280 296L862 296");
}

TEST(ReturnsSvg, MeanOfSelfPlayKeepsWhatProgramsGainedLast) {
  std::vector<v1::TrainMetrics> run = MakeRun(4, 2);
  // The first program equals its default from the second iteration on; the other program is played
  // only in the last one.
  run[1].mutable_programs(0)->set_mean_return(0.2);
  run[3].mutable_programs(1)->set_mean_return(0.2);
  const testing::Element root = Parsed(ReturnsSvg("run", run));
  const testing::Element& mean = *root.Find("g", "chart")[0];
  ASSERT_EQ(mean.Find("path", "line orange").size(), 1);
  const std::string& path = mean.Find("path", "line orange")[0]->attributes.at("d");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 2) << path;
}

TEST(ReturnsSvg, ShowsTheMeanAndTheTwelveProgramsWithMostGain) {
  const testing::Element root = Parsed(ReturnsSvg("run", MakeRun(2, 14)));
  EXPECT_EQ(root.Find("g", "chart").size(), 13);
  EXPECT_THAT(Texts(root),
              AllOf(IsSupersetOf({"mean of 14 programs", "p13", "p2"}), Not(Contains("p1")),
                    Not(Contains("p0")), Contains(HasSubstr("12 of 14 programs are drawn"))));
  // The mean of 2.5 % times 0 to 13.
  EXPECT_THAT(Texts(root), Contains("best +16.25 %"));
}

TEST(ReturnsSvg, TheMeanTellsProgramsOfOneNameApartByTheirChips) {
  std::vector<v1::TrainMetrics> run = MakeRun(2, 2);
  for (v1::TrainMetrics& metrics : run) {
    for (Program& program : *metrics.mutable_programs()) program.set_name("gpt");
    metrics.mutable_programs(0)->set_hardware("tpu_v4i");
    metrics.mutable_programs(1)->set_hardware("tpu_v5e");
    metrics.mutable_programs(0)->set_best_return(0.2);
    metrics.mutable_programs(1)->set_best_return(0.36);
  }
  run.back().mutable_programs()->SwapElements(0, 1);
  // The means of 0 and 0.16, of the 0.8 of the all-HBM cycles that the default takes.
  EXPECT_THAT(Texts(Parsed(ReturnsSvg("run", run))), Contains("best +10.00 %"));
  // The first iteration has the program for another chip, so the mean begins with the second one.
  run[0].mutable_programs(1)->set_hardware("tpu_v6e");
  const testing::Element root = Parsed(ReturnsSvg("run", run));
  const std::string& path =
      root.Find("g", "chart")[0]->Find("path", "line dot green")[0]->attributes.at("d");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 0);
}

TEST(ReturnsSvg, NamesWhatAProgramWithoutDefaultIsComparedWith) {
  std::vector<v1::TrainMetrics> run = MakeRun(2, 1);
  run.back().mutable_programs(0)->clear_default_return();
  EXPECT_THAT(Texts(Parsed(ReturnsSvg("run", run))), Contains(HasSubstr("all in HBM")));
}

TEST(ReturnsSvg, NamesNoDefaultWhereNoProgramHasOne) {
  std::vector<v1::TrainMetrics> run = MakeRun(2, 2);
  for (v1::TrainMetrics& metrics : run) {
    for (Program& program : *metrics.mutable_programs()) program.clear_default_return();
  }
  const std::vector<std::string> texts = Texts(Parsed(ReturnsSvg("run", run)));
  EXPECT_THAT(texts, Contains("run: cycles saved"));
  EXPECT_THAT(texts, Not(Contains(HasSubstr("default"))));
}

TEST(ReturnsSvg, FollowsAProgramThroughOtherListsOfPrograms) {
  // At first there is only p0; then a new program comes before it.
  std::vector<v1::TrainMetrics> run = MakeRun(4, 1);
  run[0].mutable_programs(0)->set_mean_return(0.2);
  for (int i = 2; i < 4; ++i) {
    *run[i].add_programs() = MakeProgram("new", 0.6);
    run[i].mutable_programs()->SwapElements(0, 1);
  }
  const testing::Element root = Parsed(ReturnsSvg("run", run));
  const std::vector<const testing::Element*> charts = root.Find("g", "chart");
  ASSERT_EQ(charts.size(), 3);
  const auto segments = [&](int chart) {
    const std::string& path = charts[chart]->Find("path", "line green")[0]->attributes.at("d");
    return std::count(path.begin(), path.end(), 'L');
  };
  EXPECT_EQ(segments(0), 1);  // the mean, from the iteration that has both
  EXPECT_TRUE(charts[0]->Find("path", "line dot orange").empty());
  EXPECT_TRUE(charts[0]->Find("path", "line orange").empty());
  EXPECT_THAT(Texts(*charts[1]), IsSupersetOf({"new", "best +50.00 %"}));
  EXPECT_EQ(segments(1), 1);
  EXPECT_THAT(Texts(*charts[2]), IsSupersetOf({"p0", "best +0.00 %"}));
  EXPECT_EQ(segments(2), 3);  // the whole history of p0
}

TEST(FindProgram, TakesTheChipIntoAccountWhereItIsKnown) {
  v1::TrainMetrics metrics;
  for (const char* chip : {"tpu_v4i", "tpu_v5e"}) {
    *metrics.add_programs() = MakeProgram("gpt", 0.2);
    metrics.mutable_programs()->rbegin()->set_hardware(chip);
  }
  EXPECT_EQ(FindProgram(metrics, metrics.programs(1)), &metrics.programs(1));
  Program other = MakeProgram("gpt", 0.2);
  other.set_hardware("tpu_v6e");
  EXPECT_EQ(FindProgram(metrics, other), nullptr);
  // Earlier versions did not write the chip.
  metrics.mutable_programs(0)->clear_hardware();
  EXPECT_EQ(FindProgram(metrics, other), &metrics.programs(0));
}

TEST(LossesSvg, DrawsIterationsThatLearned) {
  const testing::Element root = Parsed(LossesSvg("run", MakeRun(4, 1)));
  EXPECT_THAT(Texts(root),
              IsSupersetOf({"policy loss", "value loss", "reward loss", "value error", "updates"}));
  // The losses at 10, 20 and 30 updates are 1, 1/2 and 1/3, on an axis from 0.2 to 1. The plot is
  // at x from 86 to 572 and y from 98 to 324.
  const std::vector<const testing::Element*> lines = root.Find("path", "line blue");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0]->attributes.at("d"), "M248 98L410 239.25L572 286.33");
}

TEST(SpeedSvg, DividesByTheTimeBetweenIterations) {
  const testing::Element root = Parsed(SpeedSvg("run", MakeRun(3, 1)));
  // The values are constant: 30 games in 60 s, 1000 simulations in 10 s of play, 10 of 40 s spent
  // playing.
  EXPECT_THAT(Texts(root), IsSupersetOf({"0.50", "100", "25", "7.0", "games per second",
                                         "simulations per second", "rows in a network call",
                                         "playing / (playing + learning), %"}));
}

// `count` lines of a cluster's learner, 3 or more. It adds the last line when it stops, after the
// actors have ended.
std::vector<v1::TrainMetrics> MakeClusterRun(int count) {
  std::vector<v1::TrainMetrics> run = MakeRun(count, 1);
  for (v1::TrainMetrics& metrics : run) {
    metrics.clear_play_seconds();
    metrics.clear_batch_fill();
  }
  v1::TrainMetrics& last = run.back();
  last.set_games(run[count - 2].games());
  last.set_simulations(0);
  last.set_seconds(run[count - 2].seconds() + 1);
  return run;
}

TEST(SpeedSvg, LeavesOutWhatAClusterDoesNotKnow) {
  const testing::Element root = Parsed(SpeedSvg("run", MakeClusterRun(4)));
  EXPECT_EQ(root.Find("g", "chart").size(), 2);
  EXPECT_THAT(Texts(root),
              AllOf(IsSupersetOf({"games", "simulations of all actors"}),
                    Not(Contains("batches of self-play")), Not(Contains("time playing"))));
}

TEST(SpeedSvg, DoesNotTakeTheMomentAfterTheActorsForASpeed) {
  // 30 games in 60 s make a point for each iteration after the first. The last second, without
  // games, makes none.
  const testing::Element two_points = Parsed(SpeedSvg("run", MakeClusterRun(4)));
  const std::vector<const testing::Element*> lines = two_points.Find("path", "line blue");
  ASSERT_FALSE(lines.empty());
  const std::string& path = lines[0]->attributes.at("d");
  EXPECT_EQ(std::count(path.begin(), path.end(), 'L'), 1);
  const testing::Element one_point = Parsed(SpeedSvg("run", MakeClusterRun(3)));
  EXPECT_TRUE(one_point.Find("path", "line blue").empty());
  EXPECT_EQ(one_point.Find("path", "line dot blue").size(), 2);  // games and simulations
}

TEST(LearningCurves, AreEmptyPagesWithoutIterations) {
  for (const auto& draw : {ReturnsSvg, LossesSvg, SpeedSvg}) {
    EXPECT_THAT(Texts(Parsed(draw("run", {}))),
                IsSupersetOf({"no iterations yet", "nothing measured yet"}));
  }
}

TEST(LearningCurves, TakeIterationsThatLackProgramsOrTime) {
  std::vector<v1::TrainMetrics> run = MakeRun(3, 3);
  run[0].clear_programs();
  run[1].set_play_seconds(0);
  run[1].set_learn_seconds(0);
  run[2].set_seconds(run[1].seconds());
  // the default saves everything, so no share can be saved
  run[2].mutable_programs(0)->set_default_return(1);
  for (const auto& draw : {ReturnsSvg, LossesSvg, SpeedSvg}) Parsed(draw("run", run));
}

}  // namespace
}  // namespace mallocmuzero::view
