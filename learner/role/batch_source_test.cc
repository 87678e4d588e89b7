#include "learner/role/batch_source.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/game_recorder.h"
#include "actor/testing/recorded_game.h"
#include "env/players.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;

constexpr absl::Duration kTimeout = absl::Seconds(20);
constexpr uint64_t kPositions = 100;

class BatchSourceTest : public ::testing::Test {
 protected:
  BatchSourceTest() {
    options_.learner.set_unroll_steps(2);
    options_.learner.set_best_share(0.25F);
    options_.shape = BatchShape::Of(options_.learner, 8, 0.5);
    options_.queued_batches = 2;
    game_ = Play();
  }

  std::shared_ptr<v1::Trajectory> Play(uint64_t seed = 1) const {
    return std::make_shared<v1::Trajectory>(testing::RecordedGame(
        programs_[0], Player(PlayerKind::kRandom, seed), TrajectoryId(1, 2, seed)));
  }

  // Returns the game's positions in turn. The first of each draw has four times the probability of
  // the others.
  std::vector<DrawnPosition> Draw(size_t count) const {
    std::vector<DrawnPosition> drawn;
    for (size_t i = 0; i < count; ++i) {
      drawn.push_back({.trajectory = game_,
                       .position = static_cast<uint32_t>(i % game_->accesses_size()),
                       .probability = i == 0 ? 0.04 : 0.01});
    }
    return drawn;
  }

  std::unique_ptr<BatchSource> Start(DrawPositions draw) {
    return std::make_unique<BatchSource>(
        options_, programs_, *book_,
        PositionSource{.draw = std::move(draw),
                       .positions = [] { return kPositions; },
                       .prioritize =
                           [this](auto rows, auto priorities) {
                             for (size_t i = 0; i < rows.size(); ++i) {
                               if (priorities[i] > 0) continue;
                               ++refused_;
                               const bool is_valid = rows[i].trajectory == game_;
                               if (is_valid && rows[i].position < 1000) ++wrongly_refused_;
                             }
                           }});
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 1);
  const std::unique_ptr<GameBook> book_ = *GameBook::Create(programs_, false);
  BatchSourceOptions options_;
  std::shared_ptr<v1::Trajectory> game_;
  std::atomic<size_t> refused_ = 0;          // positions
  std::atomic<size_t> wrongly_refused_ = 0;  // of these, positions of a valid game
};

TEST_F(BatchSourceTest, BatchesHaveDrawnRowsFirstAndImitatedOnesBehind) {
  const auto source = Start([this](v1::Selection, size_t count, absl::Duration) {
    return absl::StatusOr<std::vector<DrawnPosition>>(Draw(count));
  });
  const std::optional<LearningBatch> batch = *source->Next(kTimeout);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->rows, 8);
  ASSERT_EQ(batch->prioritized.size(), 6);  // a quarter of 8 is imitated
  const float* weights = &batch->block->weights[batch->first];
  EXPECT_FLOAT_EQ(weights[0], 0.5F);      // (1 / (100 x 0.04)) ^ 0.5
  EXPECT_FLOAT_EQ(weights[1], 1);         // (1 / (100 x 0.01)) ^ 0.5
  EXPECT_FLOAT_EQ(weights[7], 5.5F / 6);  // the mean of one 0.5 and five of 1
  // The policy of an imitated row is the action that was taken.
  const float* policy = &batch->block->policies[(batch->first + 7) * 3 * 3];
  EXPECT_FLOAT_EQ(policy[0] + policy[1] + policy[2], 1);
  EXPECT_FLOAT_EQ(*std::max_element(policy, policy + 3), 1);
  // The drawn rows were not searched and have no policy.
  EXPECT_FLOAT_EQ(batch->block->policies[batch->first * 3 * 3], 0);
}

TEST_F(BatchSourceTest, ABatchThatIsTriedAgainIsDividedByTheLargestWeightOfTheNewGroup) {
  const auto source = Start([this](v1::Selection, size_t count, absl::Duration) {
    return absl::StatusOr<std::vector<DrawnPosition>>(Draw(count));
  });
  std::optional<LearningBatch> batch = *source->Next(kTimeout);
  ASSERT_TRUE(batch.has_value());
  const float* weights = &batch->block->weights[batch->first];
  EXPECT_FLOAT_EQ(weights[0], 0.5F);
  EXPECT_DOUBLE_EQ(batch->LargestWeight(), 1);
  batch->DivideWeightsBy(4);  // another process has a larger one
  EXPECT_FLOAT_EQ(weights[0], 0.125F);
  EXPECT_FLOAT_EQ(weights[1], 0.25F);
  EXPECT_FLOAT_EQ(weights[7], 5.5F / 24);  // imitated: their mean
  EXPECT_DOUBLE_EQ(batch->LargestWeight(), 1);
  // That process is gone.
  batch->DivideWeightsBy(batch->LargestWeight());
  EXPECT_FLOAT_EQ(weights[0], 0.5F);
  EXPECT_FLOAT_EQ(weights[1], 1);
  EXPECT_FLOAT_EQ(weights[7], 5.5F / 6);
}

TEST_F(BatchSourceTest, OfThreeShardsBestGamesTheBestIsImitated) {
  // Three games with ascending returns, whose first decisions differ from one to the next.
  std::vector<std::shared_ptr<v1::Trajectory>> played;
  for (uint64_t seed = 1; seed <= 200; ++seed) played.push_back(Play(seed));
  std::stable_sort(played.begin(), played.end(),
                   [](const auto& a, const auto& b) { return TotalReturn(*a) < TotalReturn(*b); });
  std::vector<std::shared_ptr<v1::Trajectory>> games = {played.front()};
  for (const auto& game : played) {
    if (games.size() < 3 && TotalReturn(*game) > TotalReturn(*games.back()) &&
        game->actions()[0] != games.back()->actions()[0]) {
      games.push_back(game);
    }
  }
  ASSERT_EQ(games.size(), 3);
  const auto imitated = [&](uint32_t best_games) {
    options_.best_games = best_games;
    const auto source = Start([&](v1::Selection selection, size_t count, absl::Duration) {
      std::vector<DrawnPosition> drawn = Draw(count);
      for (size_t i = 0; i < count && selection == v1::BEST; ++i) {
        drawn[i].trajectory = games[2 - i % 3];
        drawn[i].position = 0;
      }
      return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
    });
    const std::optional<LearningBatch> batch = *source->Next(kTimeout);
    std::string actions;  // of rows 6 and 7, which are imitated
    for (size_t row = 6; row < 8; ++row) {
      const float* policy = &batch->block->policies[(batch->first + row) * 3 * 3];
      actions.push_back(std::max_element(policy, policy + 3) - policy);
    }
    return actions;
  };
  const char best = games[2]->actions()[0];
  EXPECT_EQ(imitated(1), std::string(2, best));
  // If shards keep several best games, all of them are imitated.
  EXPECT_EQ(imitated(2), std::string({best, games[1]->actions()[0]}));
}

TEST_F(BatchSourceTest, RowsOfALongerGameAreInsideTheBestOne) {
  // Two games of which the shorter one is better.
  std::vector<std::shared_ptr<v1::Trajectory>> played;
  for (uint64_t seed = 1; seed <= 100; ++seed) played.push_back(Play(seed));
  std::shared_ptr<v1::Trajectory> best, longer;
  for (const auto& one : played) {
    for (const auto& other : played) {
      if (TotalReturn(*one) <= TotalReturn(*other)) continue;
      if (one->accesses_size() >= other->accesses_size()) continue;
      best = one;
      longer = other;
    }
  }
  ASSERT_NE(longer, nullptr);
  options_.best_games = 1;
  const auto source = Start([&](v1::Selection selection, size_t count, absl::Duration) {
    std::vector<DrawnPosition> drawn = Draw(count);
    for (size_t i = 0; i < count && selection == v1::BEST; ++i) {
      drawn[i].trajectory = i % 2 == 0 ? best : longer;
      drawn[i].position = drawn[i].trajectory->accesses_size() - 1;
    }
    return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
  });
  ASSERT_TRUE(source->Next(kTimeout)->has_value());
  EXPECT_EQ(source->refused_rows(), 0);
}

// Draws count for the rate limiter, whether or not the learner uses them.
TEST_F(BatchSourceTest, BestGamesOfProgramsThatAreNotTrainedOnTakeNoDrawsFromOthers) {
  options_.best_games = 1;
  auto dropped = std::make_shared<v1::Trajectory>(*game_);
  dropped->set_program_sha256("a program of before");
  std::atomic<size_t> best_draws = 0;
  std::atomic<uint64_t> next = 0;
  const auto source = Start([&](v1::Selection selection, size_t count, absl::Duration) {
    std::vector<DrawnPosition> drawn = Draw(count);
    for (size_t i = 0; i < count && selection == v1::BEST; ++i) {
      ++best_draws;
      if (next++ % 9 != 8) drawn[i].trajectory = dropped;  // one program of nine is left
    }
    return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
  });
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(source->Next(kTimeout)->has_value());
  // Two rows of a batch are imitated. Up to eight batches are made ahead. Until the first game of
  // the program is drawn there is none to imitate, at the cost of up to 8 draws.
  EXPECT_LE(best_draws, 2 * (16 + 8) + 8);
  EXPECT_GT(source->refused_rows(), 0);
}

TEST_F(BatchSourceTest, HoldsNoMoreBatchesThanItIsTold) {
  std::atomic<size_t> draws = 0;
  const auto source = Start([&](v1::Selection, size_t count, absl::Duration) {
    ++draws;
    return absl::StatusOr<std::vector<DrawnPosition>>(Draw(count));
  });
  ASSERT_TRUE(Await([&] { return source->depth() >= 2; }));
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(source->depth(), 2);
  EXPECT_EQ(draws, 2);  // one block needs a draw by priority and one of best games
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(source->Next(kTimeout)->has_value());
}

TEST_F(BatchSourceTest, DropsTheRestOfABlockWithWhatIsQueuedOfIt) {
  const std::shared_ptr<v1::Trajectory> newer = Play(2);
  std::atomic<bool> dropped = false;
  const auto source = Start([&](v1::Selection, size_t count, absl::Duration) {
    std::vector<DrawnPosition> drawn = Draw(count);
    for (DrawnPosition& row : drawn) {
      row.position = 0;
      if (dropped) row.trajectory = newer;
    }
    return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
  });
  ASSERT_TRUE(Await([&] { return source->depth() >= 2; }));
  // Two of the block's four batches are queued; two will follow.
  dropped = true;
  source->DropQueued();
  for (int i = 0; i < 4; ++i) {
    const std::optional<LearningBatch> batch = *source->Next(kTimeout);
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->prioritized[0].trajectory->id(), newer->id());
  }
}

TEST_F(BatchSourceTest, LeavesOutGamesThatAreNotOfTheRun) {
  auto foreign = std::make_shared<v1::Trajectory>(*game_);
  foreign->set_rules_version(999);
  const auto source = Start([&](v1::Selection, size_t count, absl::Duration) {
    std::vector<DrawnPosition> drawn = Draw(count);
    drawn[0].trajectory = foreign;
    return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
  });
  // The first row of every draw is refused, so no draw ever completes a block.
  EXPECT_FALSE(source->Next(absl::Milliseconds(200))->has_value());
  EXPECT_TRUE(Await([&] { return source->refused_rows() > 0 && refused_ > 0; }));
  EXPECT_THAT(source->last_refusal(), HasSubstr("rules_version"));
  EXPECT_EQ(wrongly_refused_, 0);
}

TEST_F(BatchSourceTest, ARefusalThatIsOverIsNoReasonAnyMore) {
  auto foreign = std::make_shared<v1::Trajectory>(*game_);
  foreign->set_rules_version(999);
  std::atomic<bool> refuse = true;
  const auto source = Start([&](v1::Selection, size_t count, absl::Duration) {
    std::vector<DrawnPosition> drawn = Draw(count);
    if (refuse) drawn[0].trajectory = foreign;
    return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
  });
  ASSERT_TRUE(Await([&] { return !source->last_refusal().empty(); }));
  refuse = false;
  ASSERT_TRUE(source->Next(kTimeout)->has_value());
  EXPECT_EQ(source->last_refusal(), "");
  EXPECT_GT(source->refused_rows(), 0);
}

TEST_F(BatchSourceTest, LeavesOutPositionsThatNoGameHas) {
  const auto source = Start([&](v1::Selection, size_t count, absl::Duration) {
    std::vector<DrawnPosition> drawn = Draw(count);
    drawn[0].position = 1'000'000;
    return absl::StatusOr<std::vector<DrawnPosition>>(std::move(drawn));
  });
  EXPECT_FALSE(source->Next(absl::Milliseconds(200))->has_value());
  ASSERT_TRUE(Await([&] { return !source->last_refusal().empty(); }));
  EXPECT_THAT(source->last_refusal(), HasSubstr("behind the end"));
}

TEST_F(BatchSourceTest, WithoutDrawsThereAreNoBatchesAndItEndsAllTheSame) {
  const auto source = Start([](v1::Selection, size_t, absl::Duration) {
    return absl::StatusOr<std::vector<DrawnPosition>>(absl::CancelledError("stopped"));
  });
  EXPECT_FALSE(source->Next(absl::Milliseconds(50))->has_value());
}

}  // namespace
}  // namespace mallocmuzero
