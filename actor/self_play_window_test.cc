// Games that decide a window of an incumbent anew, and what their observations show of it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "actor/incumbents.h"
#include "actor/self_play.h"
#include "actor/testing/fixed_model.h"
#include "actor/testing/self_play_tasks.h"
#include "base/testing/index_matching.h"
#include "env/action.h"
#include "env/game.h"
#include "env/observation_layout.h"
#include "env/observation_scale.h"
#include "env/players.h"
#include "env/program_set.h"
#include "env/recorded_game.h"
#include "env/solvers/plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using testing::FixedModel;
using testing::MakeSelfPlay;
using ::testing::SizeIs;
using testing::SmallSearch;
using testing::SomePrograms;
using testing::Tasks;

// A model that writes down the observations of the roots, one behind the other.
class WatchingModel final : public FixedModel {
 public:
  WatchingModel(uint32_t slots, std::vector<float>& seen) : FixedModel(slots), seen_(seen) {}
  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    seen_.insert(seen_.end(), observations.begin(),
                 observations.begin() + roots.size() * kObservationSize);
    FixedModel::EvaluateRoots(observations, roots, out);
  }

 private:
  std::vector<float>& seen_;
};

// Plays one game at a time with a WatchingModel.
std::unique_ptr<SelfPlay> WatchSelfPlay(std::vector<float>& seen) {
  const auto make_model = [&](uint32_t slots) {
    return std::make_unique<WatchingModel>(slots, seen);
  };
  return SelfPlay::Create(SmallSearch(), 1, make_model).value();
}

// Tasks of the first program whose incumbent drops every value.
std::vector<GameTask> WindowTasks(const std::vector<std::unique_ptr<PlayedProgram>>& programs,
                                  int count, float explored, float searched) {
  const size_t accesses = programs[0]->rules().access_count();
  const auto incumbent = std::make_shared<IncumbentGame>();
  incumbent->plan.resize(accesses, Action::kDrop);
  incumbent->in_fast_memory.resize(accesses, 0);
  incumbent->returns_before.resize(accesses, 0);
  std::vector<GameTask> tasks = Tasks(programs, count, explored, searched);
  for (GameTask& task : tasks) {
    task.incumbent = incumbent;
    task.decides_window = true;
  }
  return tasks;
}

TEST(SelfPlay, OutsideItsWindowAGameFollowsTheIncumbentWithoutTheNetwork) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(4);
  const std::vector<v1::Trajectory> games =
      *self_play->Play(WindowTasks(programs, 40, 0, 0), 0, nullptr);
  ASSERT_THAT(games, SizeIs(40));
  size_t own = 0;
  size_t decisions = 0;
  for (const v1::Trajectory& game : games) {
    for (uint32_t d = 0; d < game.actions().size(); ++d) {
      const auto legal = static_cast<ActionSet>(game.legal_actions()[d]);
      const bool in_window = d >= game.window().begin() && d < game.window().end();
      EXPECT_EQ(static_cast<Action>(game.actions()[d]),
                in_window ? EagerAction(legal) : Choose(Action::kDrop, legal));
    }
    own += OwnDecisions(game);
    decisions += game.actions().size();
  }
  EXPECT_GT(own, 0);
  EXPECT_LT(own, decisions);
  EXPECT_EQ(self_play->TakeStats().batches.rows(), own);
}

TEST(SelfPlay, AnExploredActionIsRepeatedBehindTheWindow) {
  const auto programs = SomePrograms(1);
  const std::vector<v1::Trajectory> games =
      *MakeSelfPlay(4)->Play(WindowTasks(programs, 100, 1, 1), 0, nullptr);
  int repeated = 0;
  for (const v1::Trajectory& game : games) {
    for (uint32_t d = game.window().end(); d < game.actions().size(); ++d) {
      EXPECT_TRUE(std::isnan(game.root_values(d)));
      const auto legal = static_cast<ActionSet>(game.legal_actions()[d]);
      repeated += static_cast<Action>(game.actions()[d]) != Choose(Action::kDrop, legal) ? 1 : 0;
    }
  }
  EXPECT_GT(repeated, 0);
}

TEST(SelfPlay, ObservationsShowTheIncumbentIfTheTaskSaysSo) {
  const auto programs = SomePrograms(1);
  std::vector<float> seen;
  const auto self_play = WatchSelfPlay(seen);
  // The value of a feature in the observations of the games of `tasks`.
  const auto shown = [&](const std::vector<GameTask>& tasks,
                         observation::IncumbentFeature feature) {
    seen.clear();
    EXPECT_TRUE(self_play->Play(tasks, 0, nullptr).ok());
    std::vector<float> values;
    for (size_t row = 0; row < seen.size(); row += kObservationSize) {
      values.push_back(seen[row + observation::kIncumbentOffset + feature]);
    }
    return values;
  };
  std::vector<GameTask> tasks = WindowTasks(programs, 1, 0, 0);
  EXPECT_THAT(shown(tasks, observation::kIncumbentIsShown), Each(0));
  tasks[0].shows_incumbent = true;
  EXPECT_THAT(shown(tasks, observation::kIncumbentIsShown), Each(1));
  // A game that decides everything anew sees the incumbent, too, and its window is the program.
  tasks[0].decides_window = false;
  EXPECT_THAT(shown(tasks, observation::kIncumbentIsShown), Each(1));
  EXPECT_EQ(
      shown(tasks, observation::kWindowLeft).front(),
      observation::CountScale(
          programs[0]->rules().access_count() - Game(programs[0]->rules()).access().number(), 16));
}

TEST(SelfPlay, AStoredGameIsSearchedAgainWithWhatItsObservationsShowed) {
  const auto programs = SomePrograms(1);
  std::vector<float> seen;
  const auto self_play = WatchSelfPlay(seen);
  std::vector<GameTask> tasks = WindowTasks(programs, 1, 0, 1);
  tasks[0].id = std::string(16, 'i');
  tasks[0].shows_incumbent = true;
  tasks[0].decides_window = false;
  const v1::Trajectory stored = self_play->Play(tasks, 0, nullptr)->front();
  EXPECT_EQ(stored.incumbent().leads_size(), stored.accesses_size());
  EXPECT_EQ(CheckRecordedGame(*programs[0], stored), absl::OkStatus());
  const std::vector<float> first = std::move(seen);
  seen.clear();
  tasks[0] = {.program = programs[0].get(),
              .id = stored.id(),
              .searched = 1,
              .again = std::make_shared<const v1::Trajectory>(stored)};
  const v1::Trajectory again = self_play->Play(tasks, 5, nullptr)->front();
  EXPECT_EQ(seen, first);
  EXPECT_EQ(again.incumbent().SerializeAsString(), stored.incumbent().SerializeAsString());
  EXPECT_FALSE(again.has_window());
}

TEST(SelfPlay, AGameThatIsSearchedAgainKeepsItsWindow) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(4);
  const std::vector<v1::Trajectory> stored =
      *self_play->Play(WindowTasks(programs, 40, 0, 1), 0, nullptr);
  std::vector<GameTask> tasks;
  for (const v1::Trajectory& game : stored) {
    tasks.push_back({.program = programs[0].get(),
                     .id = game.id(),
                     .searched = 1,
                     .again = std::make_shared<const v1::Trajectory>(game)});
  }
  const std::vector<v1::Trajectory> again = *self_play->Play(tasks, 5, nullptr);
  ASSERT_THAT(again, SizeIs(40));
  size_t own = 0;
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_TRUE(again[i].has_window());
    EXPECT_EQ(again[i].window().SerializeAsString(), stored[i].window().SerializeAsString());
    own += OwnDecisions(again[i]);
  }
  EXPECT_GT(own, 0);
}

}  // namespace
}  // namespace mallocmuzero
