#include "actor/search/noise.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Noise, IsTheSameForTheSameSeed) {
  NoiseStream one(7);
  NoiseStream other(7);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(one.Gumbel(), other.Gumbel());
}

TEST(Noise, DiffersBetweenSeedsHoweverClose) {
  std::set<uint64_t> seen;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    // SplitMix64 adds this to its state: raw seeds so far apart would give shifted streams.
    for (const uint64_t k : {uint64_t{0}, uint64_t{0x9e3779b97f4a7c15}}) {
      NoiseStream stream(seed + k);
      seen.insert(stream());
      seen.insert(stream());
    }
  }
  EXPECT_EQ(seen.size(), 4000);
}

// Mean: the Euler-Mascheroni constant, 0.577; variance: pi^2 / 6 = 1.645; P(x < 0) = 1 / e.
TEST(Noise, HasTheMomentsOfTheGumbelDistribution) {
  constexpr int kCount = 200'000;
  NoiseStream stream(1);
  double sum = 0;
  double squares = 0;
  int negative = 0;
  for (int k = 0; k < kCount; ++k) {
    const double drawn = stream.Gumbel();
    sum += drawn;
    squares += drawn * drawn;
    negative += drawn < 0 ? 1 : 0;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.5772, 0.01);
  EXPECT_NEAR(squares / kCount - mean * mean, 1.645, 0.03);
  EXPECT_NEAR(static_cast<double>(negative) / kCount, 0.3679, 0.005);
}

// In a Dirichlet distribution with equal alphas over n outcomes, each outcome has the mean 1 / n
// and the variance (1 / n) (1 - 1 / n) / (n alpha + 1): here 0.25 * 0.75 / 2 = 0.09375.
TEST(Noise, MixesInDirichletNoise) {
  constexpr int kCount = 50'000;
  NoiseStream stream(2);
  double sum = 0;
  double squares = 0;
  for (int k = 0; k < kCount; ++k) {
    std::array<float, 4> logits = {5, 0, 0, 0};
    stream.MixDirichlet(0.25F, 1, absl::MakeSpan(logits));
    double total = 0;
    for (const float logit : logits) total += std::exp(logit);
    EXPECT_NEAR(total, 1, 1e-5);
    sum += std::exp(logits[0]);
    squares += std::exp(2 * logits[0]);
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.25, 0.01);
  EXPECT_NEAR(squares / kCount - mean * mean, 0.09375, 0.005);
}

TEST(Noise, LeavesThePriorItsShare) {
  NoiseStream stream(3);
  std::array<float, 3> logits = {std::log(0.5F), std::log(0.25F), std::log(0.25F)};
  stream.MixDirichlet(0.3F, 0.25F, absl::MakeSpan(logits));
  EXPECT_GE(std::exp(logits[0]), 0.75F * 0.5F - 1e-6F);
  EXPECT_GE(std::exp(logits[1]), 0.75F * 0.25F - 1e-6F);
  std::array<float, 3> same = {1, 2, 3};
  stream.MixDirichlet(0.3F, 0, absl::MakeSpan(same));
  EXPECT_NEAR(same[2] - same[0], 2, 1e-5);
}

}  // namespace
}  // namespace mallocmuzero
