#include "rpc/backoff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/time/time.h"

namespace mallocmuzero {
namespace {

constexpr BackoffOptions kExact = {.initial = absl::Milliseconds(100),
                                   .maximum = absl::Milliseconds(350),
                                   .multiplier = 2,
                                   .jitter = 0};

TEST(Backoff, GrowsUpToTheMaximum) {
  Backoff backoff(1, kExact);
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(100));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(200));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(350));
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(350));
}

TEST(Backoff, BeginsAgainAfterASuccess) {
  Backoff backoff(1, kExact);
  backoff.Next();
  backoff.Next();
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), absl::Milliseconds(100));
}

TEST(Backoff, JitterStaysInItsRangeAndDiffersBetweenClients) {
  BackoffOptions options = kExact;
  options.jitter = 0.25;
  std::set<absl::Duration> first_delays;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const absl::Duration delay = Backoff(seed, options).Next();
    EXPECT_GE(delay, absl::Milliseconds(75));
    EXPECT_LE(delay, absl::Milliseconds(125));
    first_delays.insert(delay);
  }
  EXPECT_GT(first_delays.size(), 95);
}

}  // namespace
}  // namespace mallocmuzero
