// Tests of the units in which a run stores the values of its searches.

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/checkpoint.h"
#include "train/testing/small_run.h"
#include "train/training_run.h"

namespace mallocmuzero {
namespace {

using testing::NewFolder;
using testing::SmallConfig;
using testing::StartRun;

using BaselineStates = std::map<std::string, v1::ReturnBaselineState>;

// The baselines of the run's checkpoint, by program.
BaselineStates BaselinesIn(const std::string& folder) {
  const auto checkpoint = LoadCheckpoint(folder + "/checkpoints/latest");
  v1::TrainState state;
  EXPECT_TRUE(state.ParseFromString(checkpoint->training_state));
  BaselineStates baselines;
  for (const v1::TrainState::Program& program : state.programs()) {
    baselines[program.sha256()] = program.baseline();
  }
  return baselines;
}

double ReturnToGo(const v1::ReturnBaselineState& baseline, uint32_t access, float value) {
  return baseline.frozen(access) + value * baseline.scale();
}

// The baselines move at the end of each iteration, behind its updates. The network that these
// updates have made plays in the next iteration, and has values by the baselines of before.
TEST(SearchedReturns, AreByTheBaselineOfTheLastUpdateOfTheNetwork) {
  v1::TrainConfig config = SmallConfig();
  config.mutable_replay()->set_max_decisions(10'000);  // no game leaves
  const std::string folder = NewFolder("searched_returns");
  const std::unique_ptr<TrainingRun> run = StartRun(folder, config);
  // The baselines of the iteration that made a network, and those of the next one, by the number of
  // the network's updates.
  std::map<uint64_t, BaselineStates> learned;
  std::map<uint64_t, BaselineStates> moved;
  BaselineStates present = BaselinesIn(folder);
  constexpr uint64_t kIterations = 8;
  for (uint64_t k = 1; k <= kIterations; ++k) {
    const uint64_t before = run->updates();
    ASSERT_TRUE(run->Run({.iterations = k}, nullptr).ok());
    const BaselineStates next = BaselinesIn(folder);
    if (run->updates() > before) {
      learned[run->updates()] = present;
      moved[run->updates()] = next;
    }
    present = next;
  }
  const std::vector<SharedTrajectory> games = *run->directory().ReadGames(kIterations);
  int searched = 0;
  int differ = 0;  // values that would be another return by the moved baselines
  for (const SharedTrajectory& game : games) {
    const uint64_t step = game->network_step();
    if (!learned.contains(step)) {
      // The values of a network that has learned nothing mean nothing.
      EXPECT_EQ(game->searched_returns_size(), 0);
      continue;
    }
    ASSERT_EQ(game->searched_returns_size(), game->accesses_size());
    const std::string& program = game->program_sha256();
    for (int d = 0; d < game->accesses_size(); ++d) {
      const float value = game->root_values(d);
      if (std::isnan(value)) continue;
      const double expected = ReturnToGo(learned[step].at(program), game->accesses(d), value);
      const double wrong = ReturnToGo(moved[step].at(program), game->accesses(d), value);
      EXPECT_NEAR(game->searched_returns(d), expected, 1e-6);
      ++searched;
      differ += std::abs(wrong - expected) > 1e-4 ? 1 : 0;
    }
  }
  EXPECT_GT(searched, 20);
  EXPECT_GT(differ, 0);
}

}  // namespace
}  // namespace mallocmuzero
