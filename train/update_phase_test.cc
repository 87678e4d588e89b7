#include "train/update_phase.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

constexpr size_t kBatch = 16;
constexpr size_t kUpdates = 50;
constexpr size_t kPrioritized = 12;

v1::TrainConfig Config() {
  v1::TrainConfig config;
  config.mutable_learner()->set_batch_size(kBatch);
  config.mutable_learner()->set_best_share(0.25);
  v1::ReplayOptions& replay = *config.mutable_replay();
  replay.set_max_decisions(1000);
  replay.set_max_bytes(1 << 20);
  replay.set_best_games(1);
  replay.set_priority_exponent(0.6F);
  replay.set_importance_exponent(0.4F);
  return config;
}

// Ten games of ten decisions. The first decision of each has by far the highest priority.
std::unique_ptr<TrajectoryBuffer> SomeGames(const v1::TrainConfig& config) {
  auto buffer = std::make_unique<TrajectoryBuffer>(config.replay());
  for (uint8_t game = 0; game < 10; ++game) {
    auto played = std::make_shared<v1::Trajectory>();
    played->set_id(std::string(16, static_cast<char>(game)));
    played->set_program_sha256("p");
    for (uint8_t d = 0; d < 10; ++d) {
      played->mutable_actions()->push_back(static_cast<char>((game + d) % 3));
      played->add_rewards(0.01 * game);
    }
    EXPECT_TRUE(buffer->Insert(played));
    for (uint32_t d = 0; d < 10; ++d) buffer->SetPriority({game, d}, d == 0 ? 3 : 0.001);
  }
  return buffer;
}

TEST(DrawRows, OfEachBatchTheImitatedRowsComeLast) {
  const v1::TrainConfig config = Config();
  const auto buffer = SomeGames(config);
  std::mt19937_64 random(1);
  const std::vector<BatchRow> rows = DrawRows(*buffer, config, kUpdates, random);
  ASSERT_EQ(rows.size(), kUpdates * kBatch);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].imitate, i % kBatch >= kPrioritized);
    if (!rows[i].imitate) continue;
    EXPECT_EQ(rows[i].weight, 1);
    EXPECT_EQ(rows[i].drawn.trajectory, buffer->game(9));  // the best game
  }
}

TEST(DrawRows, TheHeaviestRowOfEachBatchWeighsOne) {
  const v1::TrainConfig config = Config();
  const auto buffer = SomeGames(config);
  std::mt19937_64 random(1);
  const std::vector<BatchRow> rows = DrawRows(*buffer, config, kUpdates, random);
  bool one_without_rare_rows = false;
  for (size_t u = 0; u < kUpdates; ++u) {
    float heaviest = 0;
    double rarest = 1;
    for (size_t i = u * kBatch; i < u * kBatch + kPrioritized; ++i) {
      heaviest = std::max(heaviest, rows[i].weight);
      rarest = std::min(rarest, rows[i].drawn.probability);
    }
    EXPECT_EQ(heaviest, 1) << "batch " << u;
    one_without_rare_rows |= rarest > 0.01;
  }
  // A batch without rare rows is normalized by its own largest weight, not by that of other
  // batches.
  EXPECT_TRUE(one_without_rare_rows);
}

}  // namespace
}  // namespace mallocmuzero
