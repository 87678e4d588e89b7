#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "actor/game_recorder.h"
#include "base/message_file.h"
#include "base/steady_clock.h"
#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "train/testing/small_run.h"
#include "train/training_run.h"

namespace mallocmuzero {
namespace {

using testing::NewFolder;
using testing::ResumeRun;
using testing::SmallConfig;
using testing::StartRun;

TEST(Demonstrations, AreThereBeforeTheFirstGame) {
  v1::TrainConfig config = SmallConfig();
  config.set_demonstration_seconds(0.1);
  const std::unique_ptr<TrainingRun> run = StartRun(NewFolder("shown"), config);
  ASSERT_TRUE(run->Run({.iterations = 1}, nullptr).ok());
  for (const ProgramProgress& progress : run->progress()) {
    EXPECT_GE(progress.best_return, progress.greedy_return);
  }
}

// The number of demonstrations of each of SomePrograms that a run has saved before its first
// iteration.
std::vector<int> SavedDemonstrations(const TrainingRun& run) {
  std::vector<int> shown(run.programs().size(), 0);
  std::set<std::string> ids;
  const auto games = run.directory().ReadGames(0);
  EXPECT_TRUE(games.ok()) << games.status();
  for (const SharedTrajectory& game : *games) {
    if (game->source() != v1::Trajectory::DEMONSTRATION) continue;
    ++shown[run.programs().IndexOf(game->program_sha256())];
    EXPECT_TRUE(ids.insert(game->id()).second);
  }
  return shown;
}

TEST(Demonstrations, TheLastDemonstrationIsStoredThoughEarlierOnesHaveLeft) {
  v1::TrainConfig config = SmallConfig();
  config.set_demonstration_seconds(0.05);
  // Too few decisions for all six demonstrations: those of the second program have about 40 each.
  config.mutable_replay()->set_max_decisions(100);
  const std::unique_ptr<TrainingRun> run = StartRun(NewFolder("small_store"), config);
  ASSERT_TRUE(run->Run({.iterations = 0}, nullptr).ok());
  const std::vector<SharedTrajectory> games = *run->directory().ReadGames(0);
  EXPECT_TRUE(std::any_of(games.begin(), games.end(), [](const SharedTrajectory& game) {
    return game->id() == TrajectoryId(3, 0, 5);
  }));
}

TEST(Demonstrations, ThatWereCutShortAreMadeUpFor) {
  v1::TrainConfig config = SmallConfig();
  // The search for the first program has practically no time limit, so the stop cuts it short.
  config.set_demonstration_seconds(86400);
  const std::string folder = NewFolder("cut_short");
  int asked = 0;
  ASSERT_TRUE(StartRun(folder, config)->Run({.stop = [&] { return ++asked > 9; }}, nullptr).ok());
  config.set_demonstration_seconds(0.2);
  ASSERT_TRUE(WriteMessage(folder + "/config.textproto", config).ok());
  // The deadline probably cuts short the search for the second program.
  ASSERT_TRUE(ResumeRun(folder)->Run({.deadline = SteadyNow() + absl::Seconds(0.3)}, nullptr).ok());
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  ASSERT_TRUE(run->Run({.iterations = 0}, nullptr).ok());
  EXPECT_EQ(SavedDemonstrations(*run), std::vector<int>({3, 3}));
}

TEST(Demonstrations, EndWithTheBudget) {
  v1::TrainConfig config = SmallConfig();
  config.set_demonstration_seconds(2);
  const std::unique_ptr<TrainingRun> run = StartRun(NewFolder("no_time"), config);
  ASSERT_TRUE(run->Run({.deadline = SteadyNow()}, nullptr).ok());
  EXPECT_EQ(SavedDemonstrations(*run), std::vector<int>({0, 0}));
}

}  // namespace
}  // namespace mallocmuzero
