#include "replay/service/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

v1::RateLimit Limit(double samples_per_insert, uint64_t min_positions, double error_buffer) {
  v1::RateLimit limit;
  limit.set_samples_per_insert(samples_per_insert);
  limit.set_min_positions(min_positions);
  limit.set_error_buffer(error_buffer);
  return limit;
}

TEST(RateLimiter, WithoutALimitOnlyTheLeastSizeCounts) {
  RateLimiter limiter(Limit(0, 100, 0));
  limiter.CountInserted(99);
  EXPECT_EQ(limiter.MayDraw(99), 0);
  limiter.CountInserted(1);
  EXPECT_EQ(limiter.MayDraw(100), UINT64_MAX);
  EXPECT_TRUE(limiter.MayInsert(1000000, 0));
  EXPECT_EQ(limiter.error(), 0);
}

TEST(RateLimiter, DrawsAndInsertsStayWithinTheBuffer) {
  RateLimiter limiter(Limit(4, 100, 50));
  limiter.CountInserted(100);
  // Draws go on while drawn < (100 - 100) x 4 + 50.
  EXPECT_EQ(limiter.MayDraw(100), 50);
  // Inserts go on while drawn = 0 > pending x 4 - 50: true for 12 (-2), false for 13 (2).
  EXPECT_TRUE(limiter.MayInsert(100, 12));
  EXPECT_FALSE(limiter.MayInsert(100, 13));
  limiter.CountInserted(20);
  EXPECT_FALSE(limiter.MayInsert(120, 0));
  EXPECT_EQ(limiter.error(), -80);
  // Inserts wait until drawn > 20 x 4 - 50 = 30.
  limiter.CountDrawn(30);
  EXPECT_FALSE(limiter.MayInsert(120, 0));
  limiter.CountDrawn(1);
  EXPECT_TRUE(limiter.MayInsert(120, 0));
  // Draws go on while drawn < 20 x 4 + 50 = 130; 31 were made.
  EXPECT_EQ(limiter.MayDraw(120), 99);
}

TEST(RateLimiter, PendingInsertsThatReachTheLeastSizeAreHeldToTheBuffer) {
  const RateLimiter limiter(Limit(4, 100, 50));
  EXPECT_TRUE(limiter.MayInsert(0, 112));   // (112 - 100) x 4 = 48
  EXPECT_FALSE(limiter.MayInsert(0, 113));  // 52
}

TEST(RateLimiter, ADrawThatBeginsWithinTheBufferIsAllowed) {
  const RateLimiter limiter(Limit(1, 0, 1.5));
  EXPECT_EQ(limiter.MayDraw(1), 2);  // the second one begins at 1, which is below 1.5
}

TEST(RateLimiter, ADrawAndAnInsertThatWouldBeginAtTheirBoundWait) {
  RateLimiter limiter(Limit(0.5, 2, 1));  // the smallest buffer
  limiter.CountInserted(2);
  // Draws go on while drawn < (2 - 2) x 0.5 + 1.
  EXPECT_EQ(limiter.MayDraw(2), 1);
  limiter.CountDrawn(1);
  EXPECT_EQ(limiter.MayDraw(2), 0);
  // Inserts go on while drawn = 1 > pending x 0.5 - 1: true for 3 (0.5), false for 4 (1).
  EXPECT_TRUE(limiter.MayInsert(2, 3));
  EXPECT_FALSE(limiter.MayInsert(2, 4));
  limiter.CountInserted(1);
  // Draws go on while drawn < (3 - 2) x 0.5 + 1 = 1.5; 1 was made.
  EXPECT_EQ(limiter.MayDraw(3), 1);
  limiter.CountDrawn(1);
  EXPECT_EQ(limiter.MayDraw(3), 0);
}

TEST(RateLimiter, DrawsThatNoClientGotMayBeMadeAgain) {
  RateLimiter limiter(Limit(4, 0, 10), /*inserted=*/5, /*drawn=*/30);
  // Draws go on while drawn < 5 x 4 + 10.
  EXPECT_EQ(limiter.MayDraw(5), 0);
  limiter.CountUndelivered(3);
  EXPECT_EQ(limiter.MayDraw(5), 3);
  limiter.CountDrawn(3);
  EXPECT_EQ(limiter.MayDraw(5), 0);
}

TEST(RateLimiter, TheLargestLimitAdmitsABoundedNumberOfDraws) {
  RateLimiter limiter(Limit(1e6, 0, 1e12));
  limiter.CountInserted(1'000'000'000);
  EXPECT_EQ(limiter.MayDraw(1), 1'000'000'000'000);
}

TEST(RateLimiter, BelowTheLeastSizeInsertsAlwaysGoOn) {
  RateLimiter limiter(Limit(1, 100, 1));
  limiter.CountInserted(99);
  EXPECT_EQ(limiter.MayDraw(99), 0);
  EXPECT_TRUE(limiter.MayInsert(99, 0));
}

TEST(RateLimiter, TheLeastSizeCountsWhatHasLeftAgain) {
  // A shard for 100 positions holds 90 of games of 30, so it must not wait for 100 stored ones.
  RateLimiter limiter(Limit(1, 100, 1));
  limiter.CountInserted(90);
  EXPECT_EQ(limiter.MayDraw(90), 0);
  limiter.CountInserted(30);
  // Draws go on while drawn < (120 - 100) x 1 + 1.
  EXPECT_EQ(limiter.MayDraw(90), 21);
  // Inserts wait for these draws, unless no position is stored.
  EXPECT_FALSE(limiter.MayInsert(90, 0));
  EXPECT_EQ(limiter.MayDraw(0), 0);
  EXPECT_TRUE(limiter.MayInsert(0, 0));
}

TEST(RateLimiter, ANewLimitCountsFromWhereTheOldOneStood) {
  // Two sides that are even go on at once, whatever the new ratio is.
  for (const double ratio : {0.5, 2.0}) {
    RateLimiter limiter(Limit(1, 0, 100), /*inserted=*/1'000'000, /*drawn=*/1'000'000);
    limiter.SetLimit(Limit(ratio, 0, 100));
    EXPECT_EQ(limiter.error(), 0);
    EXPECT_EQ(limiter.MayDraw(1), 100);
    EXPECT_TRUE(limiter.MayInsert(1, 0));
    // From here on the new ratio counts: 10 more positions make 10 x ratio draws due.
    limiter.CountInserted(10);
    EXPECT_EQ(limiter.error(), -10 * ratio);
  }
}

TEST(RateLimiter, NothingIsDueFromTheTimeWithoutALimit) {
  RateLimiter limiter(Limit(1, 0, 100), /*inserted=*/1000, /*drawn=*/1000);
  limiter.SetLimit(Limit(0, 0, 0));
  limiter.CountDrawn(1'000'000);
  EXPECT_EQ(limiter.error(), 0);
  limiter.SetLimit(Limit(1, 0, 100));
  EXPECT_EQ(limiter.error(), 0);
  EXPECT_EQ(limiter.MayDraw(1), 100);
  EXPECT_TRUE(limiter.MayInsert(1, 0));
}

TEST(RateLimiter, ANewLimitKeepsTheErrorWithinItsBuffer) {
  RateLimiter limiter(Limit(1, 10, 100), /*inserted=*/110, /*drawn=*/160);
  EXPECT_EQ(limiter.error(), 60);
  limiter.SetLimit(Limit(2, 20, 100));
  EXPECT_EQ(limiter.error(), 60);
  limiter.SetLimit(Limit(2, 20, 25));
  EXPECT_EQ(limiter.error(), 25);
  // An equal limit changes nothing, even if the error exceeds the buffer.
  limiter.CountDrawn(10);
  limiter.SetLimit(Limit(2, 20, 25));
  EXPECT_EQ(limiter.error(), 35);
}

TEST(RateLimiter, AHigherLeastSizeKeepsTheErrorUntilItIsReached) {
  RateLimiter limiter(Limit(1, 0, 100), /*inserted=*/1000, /*drawn=*/1030);
  limiter.SetLimit(Limit(1, 5000, 100));
  EXPECT_EQ(limiter.MayDraw(1), 0);
  EXPECT_TRUE(limiter.MayInsert(1, 0));
  limiter.CountInserted(4000);
  EXPECT_EQ(limiter.error(), 30);
  // A limit of a shard that has drawn nothing yet is that of a new shard.
  RateLimiter fresh(Limit(1, 100, 10));
  fresh.SetLimit(Limit(4, 200, 10));
  fresh.CountInserted(201);
  EXPECT_EQ(fresh.error(), -4);
}

TEST(RateLimiter, NeverBlocksBothSides) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t n) {
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
  };
  for (int game = 0; game < 200; ++game) {
    const uint64_t most = 1 + below(1000);
    const auto any_limit = [&] {
      return Limit(static_cast<double>(below(100)) / 10, below(most + 1),
                   1 + static_cast<double>(below(1000)) / 10);
    };
    v1::RateLimit limit = any_limit();
    ASSERT_EQ(RateLimiter::Check(limit, most), absl::OkStatus());
    RateLimiter limiter(limit);
    uint64_t stored = 0;
    for (int step = 0; step < 2000; ++step) {
      if (below(500) == 0) limiter.SetLimit(limit = any_limit());
      const bool may_insert = limiter.MayInsert(stored, 0);
      const uint64_t may_draw = limiter.MayDraw(stored);
      ASSERT_TRUE(may_insert || may_draw > 0) << limit.ShortDebugString() << " stored " << stored;
      if (may_insert && (may_draw == 0 || below(2) == 0)) {
        const uint64_t positions = 1 + below(most);
        limiter.CountInserted(positions);
        // Whole items leave, so any number of positions may stay.
        stored = std::min(stored + positions, most) - (below(10) == 0 ? below(stored + 1) : 0);
      } else if (may_draw > 0) {
        limiter.CountDrawn(1 + below(std::min<uint64_t>(may_draw, 100)));
      }
    }
  }
}

TEST(RateLimiter, RefusesWhatWouldBlockForEver) {
  const auto message = [](const v1::RateLimit& limit) {
    return std::string(RateLimiter::Check(limit, 1000).message());
  };
  EXPECT_THAT(message(Limit(0, 1001, 0)), HasSubstr("rate_limit.min_positions: 1001"));
  EXPECT_THAT(message(Limit(4, 10, 0)), HasSubstr("rate_limit.error_buffer: 0"));
  EXPECT_THAT(message(Limit(4, 10, 0.5)), HasSubstr("rate_limit.error_buffer"));
  EXPECT_THAT(message(Limit(4, 10, std::nan(""))), HasSubstr("rate_limit.error_buffer"));
  EXPECT_THAT(message(Limit(-1, 10, 10)), HasSubstr("rate_limit.samples_per_insert: -1"));
  EXPECT_THAT(message(Limit(std::numeric_limits<double>::infinity(), 10, 10)),
              HasSubstr("rate_limit.samples_per_insert"));
  EXPECT_EQ(RateLimiter::Check(Limit(4, 1000, 1), 1000), absl::OkStatus());
}

}  // namespace
}  // namespace mallocmuzero
