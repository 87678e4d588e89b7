#include "learner/role/learner_block.h"

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using On = LearnerBlock::On;

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

// The last update was a minute ago.
LearnerSituation Idle() {
  LearnerSituation situation;
  situation.started = kNow - absl::Hours(1);
  situation.training.last_update = kNow - absl::Minutes(1);
  return situation;
}

TEST(LearnerBlock, ALearnerAloneNeverWaitsForOtherProcesses) {
  LearnerSituation situation = Idle();
  situation.prepared_batches = 3;
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kNothing);
  situation.processes = 2;
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kProcesses);
}

TEST(LearnerBlock, WithBatchesAtHandShardsAndGamesAreNoReason) {
  LearnerSituation situation = Idle();
  situation.replay = "shard a is away";
  situation.refusal = "rules_version: 2";
  situation.prepared_batches = 1;
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kNothing);
  situation.prepared_batches = 0;
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kReplay);
  situation.replay.clear();
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kGames);
  EXPECT_THAT(BlockOf(situation, kNow).why, HasSubstr("rules_version: 2"));
  situation.refusal.clear();
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kBatches);
  situation.training.last_update = kNow;
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kNothing);
}

TEST(LearnerBlock, AWaitForShardsThatAreReachedIsNormal) {
  LearnerSituation situation = Idle();
  situation.replay = "shard a: no draws: too few positions, or its rate limiter";
  situation.shards_reached = true;
  EXPECT_TRUE(BlockOf(situation, kNow).flow_control);
  situation.shards_reached = false;
  EXPECT_FALSE(BlockOf(situation, kNow).flow_control);
  situation.shards_reached = true;
  situation.replay.clear();
  EXPECT_FALSE(BlockOf(situation, kNow).flow_control);
}

TEST(LearnerBlock, ASaveThatDoesNotEndIsTheDisks) {
  LearnerSituation situation = Idle();
  situation.training.last_update = kNow;
  situation.training.saving_since = kNow - absl::Seconds(3);
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kNothing);
  situation.training.saving_since = kNow - absl::Seconds(8);
  EXPECT_EQ(BlockOf(situation, kNow).on, On::kDisk);
  EXPECT_EQ(BlockOf(situation, kNow).why, "disk: no answer for 8 s, while it saves");
}

}  // namespace
}  // namespace mallocmuzero
