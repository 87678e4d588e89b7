#include "replay/client/replay_sampler.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);

std::unique_ptr<ReplaySampler> StartSampler(ReplaySamplerOptions options) {
  absl::StatusOr<std::unique_ptr<ReplaySampler>> sampler = ReplaySampler::Start(std::move(options));
  if (!sampler.ok()) {
    ADD_FAILURE() << sampler.status();
    return nullptr;
  }
  return *std::move(sampler);
}

void Fill(const std::vector<ShardAddress>& shards, uint64_t begin, uint64_t end, int length) {
  const auto writer = ReplayWriter::Start({.shards = shards});
  ASSERT_TRUE(writer.ok());
  for (uint64_t i = begin; i < end; ++i) {
    ASSERT_TRUE((*writer)->Write(MakeTrajectory(i, length, static_cast<double>(i))));
  }
  ASSERT_EQ((*writer)->Close(kLong), absl::OkStatus());
}

uint64_t IndexOf(const DrawnPosition& drawn) {
  uint64_t index = 0;
  std::memcpy(&index, drawn.trajectory->id().data(), sizeof(index));
  return index;
}

TEST(ReplaySampler, DrawsWhatWasWritten) {
  const auto shard = StartShard(ShardConfig());
  Fill({AddressOf(*shard)}, 0, 10, 20);
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}});
  const auto draws = sampler->Draw(v1::PRIORITIZED, 100, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  ASSERT_EQ(draws->size(), 100);
  for (const DrawnPosition& drawn : *draws) {
    const v1::Trajectory expected =
        MakeTrajectory(IndexOf(drawn), 20, static_cast<double>(IndexOf(drawn)));
    EXPECT_EQ(drawn.trajectory->SerializeAsString(), expected.SerializeAsString());
    EXPECT_LT(drawn.position, 20);
    // The 200 positions have equal priorities.
    EXPECT_NEAR(drawn.probability, 1.0 / 200, 1e-12);
  }
  EXPECT_EQ(sampler->positions(), 200);
}

TEST(ReplaySampler, MoreThanThePrefetchComesInOneDraw) {
  const auto shard = StartShard(ShardConfig());
  Fill({AddressOf(*shard)}, 0, 3, 5);
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}, .prefetch = 8});
  const auto draws = sampler->Draw(v1::UNIFORM, 1000, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  EXPECT_EQ(draws->size(), 1000);
}

TEST(ReplaySampler, ABatchIsNotAllOfOneGame) {
  const auto shard = StartShard(ShardConfig());
  Fill({AddressOf(*shard)}, 0, 2, 5);
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}, .prefetch = 4096});
  // Each answer lists some 500 draws of each game.
  for (int batch = 0; batch < 10; ++batch) {
    const auto draws = sampler->Draw(v1::UNIFORM, 50, kLong);
    ASSERT_TRUE(draws.ok()) << draws.status();
    int of_one = 0;
    for (const DrawnPosition& drawn : *draws) of_one += IndexOf(drawn) == 1 ? 1 : 0;
    // 50 fair coins give fewer than 7 or more than 43 heads with a chance of 1 in 10 million.
    EXPECT_GE(of_one, 7);
    EXPECT_LE(of_one, 43);
  }
}

TEST(ReplaySampler, TwoShardsDrawAsOneWould) {
  const auto a = StartShard(ShardConfig("a"));
  const auto b = StartShard(ShardConfig("b"));
  const std::vector<ShardAddress> shards = {AddressOf(*a, "a"), AddressOf(*b, "b")};
  // There are 30 positions: 10 in one shard, 20 in the other.
  Fill({shards[0]}, 0, 2, 5);
  Fill({shards[1]}, 2, 6, 5);
  const auto sampler = StartSampler({.shards = shards, .prefetch = 4096, .seed = 1});
  // The first draw may come before both shards have answered.
  while (sampler->positions() < 30) ASSERT_TRUE(sampler->Draw(v1::UNIFORM, 1, kLong).ok());
  constexpr int kDraws = 60000;
  const auto draws = sampler->Draw(v1::UNIFORM, kDraws, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  std::map<std::pair<uint64_t, uint32_t>, int> counts;
  for (const DrawnPosition& drawn : *draws) {
    EXPECT_NEAR(drawn.probability, 1.0 / 30, 1e-12);
    ++counts[{IndexOf(drawn), drawn.position}];
  }
  ASSERT_EQ(counts.size(), 30);
  double chi_square = 0;
  for (const auto& [position, count] : counts) {
    chi_square += std::pow(count - kDraws / 30.0, 2) / (kDraws / 30.0);
  }
  // With 29 degrees of freedom the statistic is above 79 with a chance of 1 in a million.
  EXPECT_LT(chi_square, 79);
}

TEST(ReplaySampler, EachOfManyShardsIsDrawnByItsWeight) {
  std::vector<std::unique_ptr<ReplayShard>> shards;
  std::vector<ShardAddress> addresses;
  for (uint64_t s = 0; s < 4; ++s) {
    const std::string name(1, static_cast<char>('a' + s));
    shards.push_back(StartShard(ShardConfig(name)));
    addresses.push_back(AddressOf(*shards.back(), name));
    Fill({addresses.back()}, s, s + 1, 5);
  }
  const auto sampler = StartSampler({.shards = addresses, .prefetch = 1024, .seed = 1});
  while (sampler->positions() < 20) ASSERT_TRUE(sampler->Draw(v1::UNIFORM, 1, kLong).ok());
  const auto draws = sampler->Draw(v1::UNIFORM, 4000, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  std::map<uint32_t, int> counts;
  for (const DrawnPosition& drawn : *draws) ++counts[drawn.shard];
  // A quarter each, with a deviation of 27.
  for (uint32_t s = 0; s < 4; ++s) EXPECT_NEAR(counts[s], 1000, 200) << s;
}

TEST(ReplaySampler, AShardThatIsAwayIsLeftOut) {
  const auto a = StartShard(ShardConfig("a"));
  auto b = StartShard(ShardConfig("b"));
  const std::vector<ShardAddress> shards = {AddressOf(*a, "a"), AddressOf(*b, "b")};
  Fill({shards[0]}, 0, 2, 5);
  Fill({shards[1]}, 2, 4, 5);
  const auto sampler = StartSampler({.shards = shards, .prefetch = 16});
  while (sampler->positions() < 20) ASSERT_TRUE(sampler->Draw(v1::UNIFORM, 1, kLong).ok());
  v1::ReplayShard config = ShardConfig("b");
  config.set_address(b->address());
  b.reset();
  // Draws that shard b delivered before it left are taken first.
  while (sampler->positions() > 10) ASSERT_TRUE(sampler->Draw(v1::UNIFORM, 1, kLong).ok());
  const auto draws = sampler->Draw(v1::UNIFORM, 100, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  for (const DrawnPosition& drawn : *draws) {
    EXPECT_EQ(drawn.shard, 0);
    EXPECT_NEAR(drawn.probability, 1.0 / 10, 1e-12);
  }
  // Once shard b runs again, draws come from it again.
  b = StartShard(config);
  ASSERT_NE(b, nullptr);
  Fill({shards[1]}, 2, 4, 5);
  bool from_b = false;
  while (!from_b) {
    const auto again = sampler->Draw(v1::UNIFORM, 10, kLong);
    ASSERT_TRUE(again.ok()) << again.status();
    for (const DrawnPosition& drawn : *again) from_b |= drawn.shard == 1;
  }
}

// A limiter may hold back one shard's draws until it gets inserts, and these may in turn wait for
// draws from another shard.
TEST(ReplaySampler, AShardThatHoldsDrawsBackIsLeftOutHoweverShortDrawsWait) {
  const auto a = StartShard(ShardConfig("a"));
  v1::ReplayShard config = ShardConfig("b");
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_error_buffer(10);
  const auto b = StartShard(config);
  const std::vector<ShardAddress> shards = {AddressOf(*a, "a"), AddressOf(*b, "b")};
  Fill({shards[0]}, 0, 2, 5);
  Fill({shards[1]}, 2, 4, 5);
  const auto sampler =
      StartSampler({.shards = shards, .prefetch = 16, .patience = absl::Milliseconds(200)});
  const absl::Time end = absl::Now() + kLong;
  // One draw makes the sampler connect to both shards. More draws could all fall to b, which would
  // then be left out.
  ASSERT_TRUE(sampler->Draw(v1::UNIFORM, 1, kLong).ok());
  ASSERT_TRUE(Await([&] { return sampler->positions() >= 20; }));
  // Shard b allows 10 x 1 + 10 draws. Some of fifty draws at once always fall to b.
  int draws = 0;
  while (draws < 10) {
    ASSERT_LT(absl::Now(), end);
    draws += sampler->Draw(v1::UNIFORM, 50, absl::Milliseconds(20)).ok() ? 1 : 0;
  }
  EXPECT_EQ(b->Stats().drawn_positions(), 20);
}

TEST(ReplaySampler, PrioritiesChangeWhatIsDrawn) {
  const auto shard = StartShard(ShardConfig());
  Fill({AddressOf(*shard)}, 0, 2, 5);
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}, .prefetch = 4});
  // All positions but position 3 of game 1 get the priority 0.
  std::vector<DrawnPosition> all;
  std::map<std::pair<uint64_t, uint32_t>, bool> seen;
  while (seen.size() < 10) {
    const auto draws = sampler->Draw(v1::UNIFORM, 10, kLong);
    ASSERT_TRUE(draws.ok()) << draws.status();
    for (const DrawnPosition& drawn : *draws) {
      if (!std::exchange(seen[{IndexOf(drawn), drawn.position}], true)) all.push_back(drawn);
    }
  }
  std::vector<double> priorities;
  for (const DrawnPosition& drawn : all) {
    priorities.push_back(IndexOf(drawn) == 1 && drawn.position == 3 ? 1 : 0);
  }
  sampler->UpdatePriorities(all, priorities);
  ASSERT_TRUE(Await([&] { return shard->Stats().total_weight() <= 1.1; }));
  // The first sampler may hold draws from before the update.
  const auto fresh = StartSampler({.shards = {AddressOf(*shard)}});
  const auto draws = fresh->Draw(v1::PRIORITIZED, 100, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  for (const DrawnPosition& drawn : *draws) {
    EXPECT_EQ(IndexOf(drawn), 1);
    EXPECT_EQ(drawn.position, 3);
    // Nine positions have the least priority, 1e-6: the probability is 1 / (1 + 9e-6).
    EXPECT_NEAR(drawn.probability, 1, 1e-5);
  }
}

TEST(ReplaySampler, APriorityForAShardThatIsBeingAddedIsDropped) {
  const auto shard = StartShard(ShardConfig());
  Fill({AddressOf(*shard)}, 0, 1, 5);
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}});
  auto draws = sampler->Draw(v1::PRIORITIZED, 2, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  (*draws)[0].position = 0;
  (*draws)[1].position = 1;
  // The number of the shard that SetShards would add next. It draws before it takes priorities.
  (*draws)[1].shard = 1;
  sampler->UpdatePriorities(*draws, std::vector<double>{0, 0});
  // Of the five positions with the priority 1, one now has the least, 1e-6.
  EXPECT_TRUE(Await([&] { return shard->Stats().total_weight() < 4.5; }));
  EXPECT_GT(shard->Stats().total_weight(), 3.5);
}

TEST(ReplaySampler, SaysWhatADrawWaitedFor) {
  v1::ReplayShard config = ShardConfig();
  config.mutable_rate_limit()->set_min_positions(100);
  const auto shard = StartShard(config);
  const auto sampler = StartSampler(
      {.shards = {AddressOf(*shard, "empty"), {.name = "away", .address = "127.0.0.1:1"}}});
  const auto draws = sampler->Draw(v1::UNIFORM, 1, absl::Milliseconds(300));
  EXPECT_EQ(draws.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(draws.status().message()), HasSubstr("shard empty: no draws"));
  EXPECT_THAT(std::string(draws.status().message()), HasSubstr("shard away: "));
}

TEST(ReplaySampler, StopWakesADraw) {
  const auto sampler = StartSampler({.shards = {{.name = "away", .address = "127.0.0.1:1"}}});
  absl::Status status;
  std::thread drawer([&] { status = sampler->Draw(v1::UNIFORM, 1, kLong).status(); });
  EXPECT_TRUE(Await([&] { return !sampler->blocked_on().empty(); }));
  sampler->Stop();
  drawer.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST(ReplaySampler, DrawsOfTheUnlimitedDoNotWaitForTheLimiter) {
  v1::ReplayShard config = ShardConfig();
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_error_buffer(10);
  const auto shard = StartShard(config);
  // Without draws the limiter admits 10 positions, and the insert that exceeds them.
  const auto writer = ReplayWriter::Start({.shards = {AddressOf(*shard)}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(MakeTrajectory(1, 10)));
  const auto limited = StartSampler({.shards = {AddressOf(*shard)}, .prefetch = 64});
  // 10 x 1 + 10 draws are allowed.
  ASSERT_TRUE(limited->Draw(v1::UNIFORM, 20, kLong).ok());
  EXPECT_FALSE(limited->Draw(v1::UNIFORM, 1, absl::Milliseconds(200)).ok());
  const auto unlimited = StartSampler({.shards = {AddressOf(*shard)}, .unlimited = true});
  EXPECT_TRUE(unlimited->Draw(v1::UNIFORM, 500, kLong).ok());
  EXPECT_EQ(shard->Stats().drawn_positions(), 20);
  // An insert makes the limiter admit more draws.
  ASSERT_TRUE((*writer)->Write(MakeTrajectory(2, 5)));
  EXPECT_TRUE(limited->Draw(v1::UNIFORM, 5, kLong).ok());
}

TEST(ReplaySampler, InsertsWaitForDraws) {
  v1::ReplayShard config = ShardConfig();
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_min_positions(10);
  config.mutable_rate_limit()->set_error_buffer(5);
  const auto shard = StartShard(config);
  const auto writer = ReplayWriter::Start({.shards = {AddressOf(*shard)}});
  ASSERT_TRUE(writer.ok());
  // The first 10 positions are always admitted, then more while drawn = 0 > (inserted - 10) - 5.
  // Three games of 5 positions are admitted, one by one, and the others wait.
  for (uint64_t i = 0; i < 10; ++i) {
    ASSERT_TRUE((*writer)->Write(MakeTrajectory(i, 5)));
    ASSERT_TRUE(Await([&] { return i >= 3 || (*writer)->spooled_bytes() == 0; }));
  }
  EXPECT_TRUE(Await([&] { return shard->Stats().blocked_inserts() > 0; }));
  EXPECT_EQ(shard->Stats().inserted_positions(), 15);
  EXPECT_THAT(shard->Status().blocked_on(), HasSubstr("rate limiter"));
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}});
  ASSERT_TRUE(sampler->Draw(v1::UNIFORM, 30, kLong).ok());
  EXPECT_EQ((*writer)->Close(kLong), absl::OkStatus());
  EXPECT_EQ(shard->Stats().inserted_positions(), 50);
}

TEST(ReplaySampler, BestGamesAreDrawnOfThoseWithTheHighestReturn) {
  const auto shard = StartShard(ShardConfig());  // keeps the 2 best games of a program
  Fill({AddressOf(*shard)}, 0, 10, 4);           // game i has the return i
  const auto sampler = StartSampler({.shards = {AddressOf(*shard)}});
  const auto draws = sampler->Draw(v1::BEST, 200, kLong);
  ASSERT_TRUE(draws.ok()) << draws.status();
  std::map<uint64_t, int> games;
  for (const DrawnPosition& drawn : *draws) {
    ++games[IndexOf(drawn)];
    EXPECT_NEAR(drawn.probability, 1.0 / 8, 1e-12);  // 2 games of 4 positions
  }
  EXPECT_EQ(games.size(), 2);
  EXPECT_EQ(games.count(8) + games.count(9), 2);
}

}  // namespace
}  // namespace mallocmuzero
