#include "model/bin_means.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// The mean computed in double, by its definition.
double Expected(const float* logits, absl::Span<const float> centers) {
  const float maximum = *std::max_element(logits, logits + centers.size());
  double sum = 0;
  double weighted = 0;
  for (size_t k = 0; k < centers.size(); ++k) {
    const double e = std::exp(static_cast<double>(logits[k]) - maximum);
    sum += e;
    weighted += e * centers[k];
  }
  return weighted / sum;
}

std::vector<float> Centers(size_t bins) {
  std::vector<float> centers(bins);
  for (size_t k = 0; k < bins; ++k) centers[k] = static_cast<float>(k) - (bins - 1) / 2.0F;
  return centers;
}

TEST(BinMeans, IsTheMeanUnderSoftmaxWhateverTheNumberOfBins) {
  std::mt19937_64 random(1);
  for (const size_t bins : {1, 2, 15, 16, 17, 64, 601}) {
    for (const float spread : {0.0F, 1.0F, 30.0F, 1000.0F}) {
      constexpr size_t kRows = 5;
      const size_t stride = bins + 3;
      std::normal_distribution<float> normal(5, 1);
      std::vector<float> logits(kRows * stride);
      for (float& logit : logits) logit = spread * normal(random);
      const std::vector<float> centers = Centers(bins);
      std::vector<float> means(kRows);
      BinMeans(logits.data(), stride, centers, absl::MakeSpan(means));
      for (size_t row = 0; row < kRows; ++row) {
        EXPECT_NEAR(means[row], Expected(&logits[row * stride], centers), 1e-6 * bins)
            << bins << " bins, spread " << spread;
      }
    }
  }
}

TEST(BinMeans, ABinThatIsCertainIsTheAnswer) {
  std::vector<float> logits(601, -200);
  logits[600] = 300;
  const std::vector<float> centers = Centers(601);
  float mean = 0;
  BinMeans(logits.data(), logits.size(), centers, absl::MakeSpan(&mean, 1));
  EXPECT_EQ(mean, 300);
}

TEST(BinMeans, BitsOfBfloat16MeanTheSameNumbers) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(0, 4);
  std::vector<uint16_t> bits(size_t{2} * 70);
  std::vector<float> logits(bits.size());
  for (size_t k = 0; k < bits.size(); ++k) {
    const float number = normal(random);
    uint32_t word = 0;
    std::memcpy(&word, &number, sizeof(word));
    bits[k] = word >> 16;
    word = uint32_t{bits[k]} << 16;
    std::memcpy(&logits[k], &word, sizeof(word));
  }
  const std::vector<float> centers = Centers(70);
  std::vector<float> of_bits(2);
  std::vector<float> of_floats(2);
  BinMeans(bits.data(), 70, centers, absl::MakeSpan(of_bits));
  BinMeans(logits.data(), 70, centers, absl::MakeSpan(of_floats));
  EXPECT_EQ(of_bits, of_floats);
}

}  // namespace
}  // namespace mallocmuzero
