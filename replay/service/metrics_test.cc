#include "replay/service/metrics.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_block.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

TEST(ReplayMetrics, TellHowFarTheLimiterIsFromItsBounds) {
  prometheus::Registry registry;
  ReplayMetrics metrics(&registry);
  v1::ReplayStats stats;
  stats.mutable_rate_limit()->set_samples_per_insert(2);
  stats.mutable_rate_limit()->set_error_buffer(400);
  stats.set_limiter_error(-100);
  metrics.Update(stats, 0, ReplayBlock::On::kRateLimiter);
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  EXPECT_THAT(text, HasSubstr("\nmallocmuzero_replay_limiter_error_positions -100\n"));
  EXPECT_THAT(text, HasSubstr("\nmallocmuzero_replay_limiter_buffer_positions 400\n"));
  EXPECT_THAT(text, HasSubstr("\nmallocmuzero_replay_limiter_samples_per_insert_ratio 2\n"));
  EXPECT_THAT(text, HasSubstr("\nmallocmuzero_replay_blocked{on=\"rate_limiter\"} 1\n"));
}

TEST(ReplayMetrics, NameTheShardThatIsDrainedAsItsClientsDo) {
  prometheus::Registry registry;
  ReplayMetrics metrics(&registry, {}, "a");
  v1::ReplayStats stats;
  stats.set_draining(true);
  metrics.Update(stats, 0, ReplayBlock::On::kDraining);
  EXPECT_THAT(prometheus::TextSerializer().Serialize(registry.Collect()),
              HasSubstr("\nmallocmuzero_replay_draining{shard=\"a\"} 1\n"));
}

TEST(ReplayMetrics, CountWhatThisProcessHasDone) {
  v1::ReplayStats stats;
  stats.set_inserted_items(10);
  stats.set_drawn_positions(1000);
  prometheus::Registry registry;
  ReplayMetrics metrics(&registry, stats);
  const auto served = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  metrics.Update(stats, 0, ReplayBlock::On::kNothing);
  EXPECT_THAT(served(), HasSubstr("\nmallocmuzero_replay_inserted_items_total 0\n"));
  EXPECT_THAT(served(), HasSubstr("\nmallocmuzero_replay_sampled_positions_total 0\n"));
  stats.set_inserted_items(13);
  stats.set_drawn_positions(1020);
  metrics.Update(stats, 0, ReplayBlock::On::kNothing);
  EXPECT_THAT(served(), HasSubstr("\nmallocmuzero_replay_inserted_items_total 3\n"));
  EXPECT_THAT(served(), HasSubstr("\nmallocmuzero_replay_sampled_positions_total 20\n"));
}

}  // namespace
}  // namespace mallocmuzero
