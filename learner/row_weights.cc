#include "learner/row_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// The least product of probability and number of positions. It keeps the weight of a row finite if
// a shard reports a probability of 0.
constexpr double kLeastProbability = 1e-12;

}  // namespace

size_t ImitatedRows(const v1::LearnerOptions& options, size_t rows) {
  return std::lround(options.best_share() * static_cast<double>(rows));
}

std::vector<float> RowWeights(absl::Span<const double> probabilities, size_t imitated,
                              double positions, double exponent) {
  positions = std::max(1.0, positions);
  std::vector<float> weights;
  weights.reserve(probabilities.size() + imitated);
  double sum = 0;
  for (const double probability : probabilities) {
    const double expected_draws = std::max(probability * positions, kLeastProbability);
    weights.push_back(static_cast<float>(std::pow(1 / expected_draws, exponent)));
    sum += weights.back();
  }
  const double mean = weights.empty() ? 1 : sum / static_cast<double>(weights.size());
  weights.insert(weights.end(), imitated, static_cast<float>(mean));
  return weights;
}

void DivideWeights(double largest, absl::Span<float> weights) {
  for (float& weight : weights) weight = static_cast<float>(weight / largest);
}

}  // namespace mallocmuzero
