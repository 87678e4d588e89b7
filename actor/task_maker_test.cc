#include "actor/task_maker.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "env/testing/random_program_set.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

class TaskMakerTest : public ::testing::Test {
 protected:
  TaskMaker Maker(const SelfPlaySettings& settings) {
    return {settings, [this] { return absl::StrCat("game ", games_++); }, random_};
  }

  // Makes one task of each kind.
  std::vector<GameTask> OneOfEach(const SelfPlaySettings& settings) {
    const auto stored = std::make_shared<v1::Trajectory>();
    stored->set_id("stored");
    TaskMaker maker = Maker(settings);
    maker.AddEvaluation(programs_[0]);
    maker.AddSelfPlay(programs_[1]);
    maker.AddReanalysis(programs_[0], stored);
    return std::move(maker).Take();
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 2);
  Random random_{1};
  int games_ = 0;
};

TEST_F(TaskMakerTest, EachKindOfGameIsPlayedInItsOwnWay) {
  const std::vector<GameTask> tasks = OneOfEach({.explored_decisions = 4, .searched_share = 0.25F});
  ASSERT_EQ(tasks.size(), 3);
  EXPECT_EQ(tasks[0].id, "game 0");
  EXPECT_EQ(tasks[0].program, &programs_[0]);
  EXPECT_EQ(tasks[0].explored, 0);
  EXPECT_EQ(tasks[0].searched, 1);
  EXPECT_EQ(tasks[1].id, "game 1");
  EXPECT_EQ(tasks[1].program, &programs_[1]);
  EXPECT_FLOAT_EQ(tasks[1].explored, 4.0F / static_cast<float>(programs_[1].decisions()));
  EXPECT_EQ(tasks[1].searched, 0.25F);
  EXPECT_EQ(tasks[1].again, nullptr);
  EXPECT_EQ(tasks[2].id, "stored");
  EXPECT_EQ(tasks[2].explored, 0);
  EXPECT_EQ(tasks[2].searched, 1);
  EXPECT_EQ(tasks[2].again->id(), "stored");
  EXPECT_NE(tasks[0].seed, tasks[1].seed);
}

TEST_F(TaskMakerTest, ExploredDecisionsAreSearchedEvenIfNoOthersAre) {
  const std::vector<GameTask> tasks = OneOfEach({.explored_decisions = 4, .searched_share = 0});
  EXPECT_GT(tasks[1].searched, 0);  // as GameTask::searched says
  EXPECT_LT(tasks[1].searched, 1e-30);
}

TEST_F(TaskMakerTest, WithoutSearchThePolicyAlonePlaysNewGames) {
  const std::vector<GameTask> tasks = OneOfEach({.searched_share = 0.25F, .searches = false});
  EXPECT_EQ(tasks[0].searched, 0);
  EXPECT_EQ(tasks[1].searched, 0);
  // A stored game is always searched, as it would gain nothing otherwise.
  EXPECT_EQ(tasks[2].searched, 1);
}

TEST_F(TaskMakerTest, GamesOfAWindowAreSearchedWhollyAndFollowTheIncumbent) {
  const PlayedProgram& program = programs_[0];
  const auto incumbent = std::make_shared<const IncumbentGame>();
  TaskMaker maker = Maker({.explored_decisions = 4, .searched_share = 0.25F});
  maker.AddWindow(program, incumbent);
  const GameTask& task = maker.tasks()[0];
  EXPECT_EQ(task.id, "game 0");
  EXPECT_FLOAT_EQ(task.explored, 4.0F / static_cast<float>(program.decisions()));
  EXPECT_EQ(task.searched, 1);
  EXPECT_EQ(task.incumbent, incumbent);
  EXPECT_TRUE(task.decides_window);
}

TEST_F(TaskMakerTest, MostGamesOfAWindowShowTheIncumbent) {
  TaskMaker maker = Maker({.explored_decisions = 4});
  for (int g = 0; g < 1000; ++g) {
    maker.AddWindow(programs_[0], std::make_shared<const IncumbentGame>());
  }
  int shown = 0;
  for (const GameTask& task : maker.tasks()) shown += task.shows_incumbent ? 1 : 0;
  EXPECT_NEAR(shown, 700, 75);  // five standard deviations of 14.5
}

TEST_F(TaskMakerTest, AnEvaluationShowsTheIncumbentAndDecidesTheWholeGame) {
  const auto incumbent = std::make_shared<const IncumbentGame>();
  TaskMaker maker = Maker({.explored_decisions = 4});
  maker.AddEvaluation(programs_[0], incumbent);
  maker.AddEvaluation(programs_[0]);
  EXPECT_EQ(maker.tasks()[0].incumbent, incumbent);
  EXPECT_TRUE(maker.tasks()[0].shows_incumbent);
  EXPECT_FALSE(maker.tasks()[0].decides_window);
  EXPECT_EQ(maker.tasks()[1].incumbent, nullptr);
}

TEST(DrawProgram, DrawsByWeight) {
  Random random(1);
  int counts[3] = {};
  for (int i = 0; i < 10'000; ++i) ++counts[DrawProgram({0.5, 0, 0.5}, 3, random)];
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], 5000, 250);  // five standard deviations of 50
}

TEST(DrawProgram, DrawsEvenlyWithWeightsThatCannotBe) {
  Random random(1);
  const std::vector<double> unusable[] = {{}, {1}, {0, 0}, {-1, 2}, {std::nan(""), 1}};
  for (const std::vector<double>& weights : unusable) {
    int counts[2] = {};
    for (int i = 0; i < 1000; ++i) ++counts[DrawProgram(weights, 2, random)];
    EXPECT_NEAR(counts[0], 500, 80);
  }
}

}  // namespace
}  // namespace mallocmuzero
