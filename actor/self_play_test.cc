#include "actor/self_play.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "actor/testing/fixed_model.h"
#include "actor/testing/self_play_tasks.h"
#include "base/testing/index_matching.h"
#include "env/action.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using testing::FixedModel;
using ::testing::HasSubstr;
using testing::MakeSelfPlay;
using ::testing::SizeIs;
using testing::SmallSearch;
using testing::SomePrograms;
using testing::Tasks;

// A model without preferences at the root, like a fresh network.
class IndifferentModel final : public FixedModel {
 public:
  using FixedModel::FixedModel;
  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    FixedModel::EvaluateRoots(observations, roots, out);
    std::fill(out.logits.begin(), out.logits.end(), 0.0F);
  }
};

constexpr uint32_t kGainSimulations = 32;

// A model by which NoCopy at a root gains 1, and nothing else gains anything.
class GainModel final : public FixedModel {
 public:
  using FixedModel::FixedModel;
  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    FixedModel::EvaluateSteps(steps, out);
    for (size_t row = 0; row < steps.size(); ++row) {
      const bool is_root = steps[row].parent % (kGainSimulations + 1) == 0;
      out.rewards[row] = is_root && steps[row].action == 1 ? 1 : 0;
      out.values[row] = 0;
    }
  }
};

TEST(SelfPlay, PlaysEveryTaskToItsEnd) {
  const auto programs = SomePrograms(3);
  const auto self_play = MakeSelfPlay(4);
  const std::vector<v1::Trajectory> games =
      *self_play->Play(Tasks(programs, 11, 0.3F, 0.5F), 9, nullptr);
  ASSERT_THAT(games, SizeIs(11));
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(games[i].id(), absl::StrCat("game ", i));
    EXPECT_EQ(games[i].network_step(), 9);
    Game game(programs[i % 3]->rules());
    for (const char action : games[i].actions()) {
      ASSERT_FALSE(game.finished());
      ASSERT_TRUE(game.IsLegal(static_cast<Action>(action)));
      game.Apply(static_cast<Action>(action));
    }
    EXPECT_TRUE(game.finished());
    EXPECT_NEAR(TotalReturn(games[i]).share(), game.total_return(), 1e-12);
  }
  const SelfPlayStats stats = self_play->TakeStats();
  EXPECT_EQ(stats.games, 11);
  EXPECT_EQ(stats.simulations, 6 * stats.searches);
  EXPECT_EQ(self_play->TakeStats().games, 0);
}

TEST(SelfPlay, AGameDoesNotDependOnItsNeighbours) {
  const auto programs = SomePrograms(2);
  const std::vector<GameTask> tasks = Tasks(programs, 8, 0.3F, 0.5F);
  const auto many = MakeSelfPlay(8);
  const auto one = MakeSelfPlay(1);
  const std::vector<v1::Trajectory> together = *many->Play(tasks, 0, nullptr);
  const std::vector<v1::Trajectory> alone = *one->Play(tasks, 0, nullptr);
  ASSERT_THAT(together, SizeIs(8));
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(together[i].actions(), alone[i].actions());
    ASSERT_EQ(together[i].policies_size(), alone[i].policies_size());
    for (int k = 0; k < alone[i].policies_size(); ++k) {
      EXPECT_EQ(together[i].policies(k), alone[i].policies(k));
    }
  }
}

TEST(SelfPlay, SearchesInBatchesAlthoughFewDecisionsAreSearched) {
  const auto programs = SomePrograms(1);
  constexpr int kGames = 32;
  const auto self_play = MakeSelfPlay(kGames);
  ASSERT_THAT(*self_play->Play(Tasks(programs, 10 * kGames, 0, 0.05F), 0, nullptr),
              SizeIs(10 * kGames));
  const SelfPlayStats stats = self_play->TakeStats();
  // Each simulation of a batch of searches is one call. The other calls evaluate roots, with one
  // row for each decision.
  const double searched_rows = static_cast<double>(stats.simulations);
  ASSERT_GT(searched_rows, 0);
  const double calls_if_alone = searched_rows;
  EXPECT_LT(stats.batches.batches(), calls_if_alone);
  EXPECT_GT(static_cast<double>(stats.batches.rows()) / stats.batches.batches(), kGames / 3.0);
}

TEST(SelfPlay, WithoutSearchAndExplorationThePolicyPlays) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(2);
  const std::vector<v1::Trajectory> games = *self_play->Play(Tasks(programs, 1, 0, 0), 0, nullptr);
  // The eager player also prefers NoCopy to Copy and Copy to Drop.
  Game eager(programs[0]->rules());
  while (!eager.finished()) eager.Apply(EagerAction(eager.legal_actions()));
  EXPECT_NEAR(TotalReturn(games[0]).share(), eager.total_return(), 1e-12);
  EXPECT_EQ(self_play->TakeStats().searches, 0);
  EXPECT_TRUE(std::isnan(games[0].root_values(0)));
}

TEST(SelfPlay, WithoutAPreferenceSomeGamesKeepAndOthersCopyFirst) {
  const auto programs = SomePrograms(1);
  const auto make_model = [](uint32_t slots) { return std::make_unique<IndifferentModel>(slots); };
  const auto self_play = SelfPlay::Create(SmallSearch(), 4, make_model).value();
  const auto is_of = [&](const v1::Trajectory& played, const auto& choose) {
    Game game(programs[0]->rules());
    while (!game.finished()) game.Apply(choose(game.legal_actions()));
    return std::equal(game.history().begin(), game.history().end(), played.actions().begin(),
                      played.actions().end(),
                      [](Action a, char b) { return a == static_cast<Action>(b); });
  };
  const auto copy_first = [](ActionSet legal) {
    return Contains(legal, Action::kCopy) ? Action::kCopy : EagerAction(legal);
  };
  int keeping = 0;
  int copying = 0;
  constexpr int kGames = 20;
  constexpr float kHardlyEver = 1e-9F;
  const auto games = self_play->Play(Tasks(programs, kGames, kHardlyEver, 0), 0, nullptr);
  for (const v1::Trajectory& game : *games) {
    keeping += is_of(game, EagerAction);
    copying += is_of(game, copy_first);
  }
  EXPECT_EQ(keeping + copying, kGames);
  EXPECT_GE(keeping, 4);
  EXPECT_GE(copying, 4);
  // A game without exploration does not depend on random numbers.
  EXPECT_TRUE(is_of(self_play->Play(Tasks(programs, 1, 0, 0), 0, nullptr)->at(0), EagerAction));
}

TEST(SelfPlay, ExploredGamesDiffer) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(4);
  std::set<std::string> seen;
  const auto games = self_play->Play(Tasks(programs, 8, 1, 0), 0, nullptr);
  for (const v1::Trajectory& game : *games) seen.insert(game.actions());
  EXPECT_GT(seen.size(), 4);
}

TEST(SelfPlay, NothingIsExploredFromTheAccessOnThatIsNamed) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(4);
  std::vector<GameTask> tasks = Tasks(programs, 40, 1, 0);
  const AccessIndex until(programs[0]->rules().access_count() / 2);
  for (GameTask& task : tasks) task.explored_until = until;
  std::set<std::string> seen;
  const auto games = self_play->Play(tasks, 0, nullptr);
  for (const v1::Trajectory& trajectory : *games) {
    seen.insert(trajectory.actions());
    // From this access on the game follows the policy: NoCopy before Copy before Drop.
    Game game(programs[0]->rules());
    for (const char action : trajectory.actions()) {
      if (game.access() >= until) {
        EXPECT_EQ(static_cast<Action>(action), EagerAction(game.legal_actions()));
      }
      game.Apply(static_cast<Action>(action));
    }
  }
  EXPECT_GT(seen.size(), 4);
}

TEST(SelfPlay, WithoutExplorationASearchHasNoNoise) {
  const auto programs = SomePrograms(1);
  std::vector<v1::Trajectory> games = *MakeSelfPlay(4)->Play(Tasks(programs, 6, 0, 1), 0, nullptr);
  ASSERT_EQ(games.size(), 6);
  for (v1::Trajectory& game : games) {
    game.clear_id();
    EXPECT_EQ(game.SerializeAsString(), games[0].SerializeAsString());
  }
}

TEST(SelfPlay, WhatIsExploredIsSearchedHoweverFewOthersAre) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(4);
  ASSERT_TRUE(self_play->Play(Tasks(programs, 40, 0.5F, 1e-9F), 0, nullptr).ok());
  const SelfPlayStats stats = self_play->TakeStats();
  EXPECT_GT(stats.searches, 8);
  EXPECT_LT(stats.searches, stats.decisions);
}

TEST(SelfPlay, ARootIsWorthWhatItsPolicyGains) {
  const auto programs = SomePrograms(1);
  const auto make_model = [](uint32_t slots) { return std::make_unique<GainModel>(slots); };
  const auto self_play = SelfPlay::Create({.simulations = kGainSimulations}, 4, make_model).value();
  const v1::Trajectory game = self_play->Play(Tasks(programs, 1, 0, 1), 0, nullptr)->front();
  int keeping = 0;
  for (int d = 0; d < game.accesses_size(); ++d) {
    EXPECT_NEAR(game.root_values(d), game.policies(3 * d + 1), 0.02) << d;
    keeping += game.policies(3 * d + 1) > 0.9F ? 1 : 0;
  }
  EXPECT_GT(keeping, 0);
}

TEST(SelfPlay, SearchesAgainAlongAStoredGame) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(4);
  std::vector<GameTask> tasks = Tasks(programs, 1, 1, 0);
  const auto stored =
      std::make_shared<const v1::Trajectory>(self_play->Play(tasks, 0, nullptr)->front());
  tasks[0].again = stored;
  tasks[0].explored = 0;
  tasks[0].searched = 1;
  const v1::Trajectory again = self_play->Play(tasks, 5, nullptr)->front();
  EXPECT_EQ(again.actions(), stored->actions());
  EXPECT_EQ(again.id(), stored->id());
  EXPECT_EQ(again.network_step(), 5);
  for (int d = 0; d < again.accesses_size(); ++d) {
    EXPECT_NEAR(again.policies(3 * d) + again.policies(3 * d + 1) + again.policies(3 * d + 2), 1,
                1e-5);
    EXPECT_FALSE(std::isnan(again.root_values(d)));
  }
}

TEST(SelfPlay, StopsWhenAskedAndStartsAnew) {
  const auto programs = SomePrograms(1);
  const auto self_play = MakeSelfPlay(2);
  int rounds = 0;
  EXPECT_LT(self_play->Play(Tasks(programs, 6, 0, 0), 0, [&] { return ++rounds > 3; })->size(), 6);
  EXPECT_THAT(*self_play->Play(Tasks(programs, 2, 0, 0), 0, nullptr), SizeIs(2));
}

TEST(SelfPlay, ADeviceThatFailsIsAnErrorInOneLine) {
  // Fails at a root, then at a step of a search, as LibTorch does.
  class FailingModel final : public FixedModel {
   public:
    using FixedModel::FixedModel;
    void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                       const Evaluations& out) override {
      if (batches_++ == 1) throw std::runtime_error("CUDA error: launch failed\nstack trace");
      FixedModel::EvaluateRoots(observations, roots, out);
    }
    void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
      if (batches_++ == 4) throw std::bad_alloc();
      FixedModel::EvaluateSteps(steps, out);
    }

   private:
    int batches_ = 0;
  };
  const auto programs = SomePrograms(1);
  const std::unique_ptr<SelfPlay> self_play =
      SelfPlay::Create(SmallSearch(), 2, [](uint32_t slots) {
        return std::make_unique<FailingModel>(slots);
      }).value();
  EXPECT_EQ(self_play->Play(Tasks(programs, 3, 0, 0), 0, nullptr).status(),
            absl::InternalError(
                "the device cannot compute a batch of 2 games: CUDA error: launch failed"));
  EXPECT_THAT(self_play->Play(Tasks(programs, 3, 0, 1), 0, nullptr).status().message(),
              HasSubstr("too little memory for a batch of 2 games"));
  // The games of the calls that failed are forgotten.
  EXPECT_THAT(*self_play->Play(Tasks(programs, 3, 0, 1), 0, nullptr), SizeIs(3));
}

}  // namespace
}  // namespace mallocmuzero
