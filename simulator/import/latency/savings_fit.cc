#include "simulator/import/latency/savings_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/latency_table.h"

namespace mallocmuzero {
namespace {

// The variance of the saving of a pair and the variance of noise, relative to the variance of the
// saving of one access.
// Over the corpus (docs/cost-model.md), values from a third to three times as large predict equally
// well.
constexpr double kPairVariance = 0.1;
constexpr double kNoiseVariance = 1e-3;

// Weight added to each access, relative to the weight of the access that moves most, so that an
// access which moves nothing has a weight, too.
constexpr double kLeastWeight = 0.02;

using Matrix = std::vector<std::vector<double>>;

// Solves matrix x = right for a symmetric positive definite matrix, by Cholesky decomposition.
std::vector<double> SolveSymmetric(Matrix matrix, std::vector<double> right) {
  const size_t n = right.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(sum) : sum / matrix[j][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

// Variance of each access's saving around its expected saving. All are 1 if all accesses move
// equally many bytes.
std::vector<double> Variances(absl::Span<const double> traffic) {
  const double most = *std::max_element(traffic.begin(), traffic.end());
  std::vector<double> weights;
  double sum = 0;
  for (const double bytes : traffic) {
    weights.push_back((most > 0 ? std::sqrt(bytes / most) : 0) + kLeastWeight);
    sum += weights.back();
  }
  const double mean = sum / static_cast<double>(weights.size());
  for (double& weight : weights) weight = weight / mean * (weight / mean);
  return weights;
}

bool Has(uint64_t set, size_t k) { return (set >> k & 1) != 0; }

// Covariance of the savings of two sets: the sum over the accesses in both, and over the pairs of
// these.
double Covariance(uint64_t a, uint64_t b, absl::Span<const double> variances) {
  double sum = 0;
  double squares = 0;
  for (size_t k = 0; k < variances.size(); ++k) {
    if (!Has(a & b, k)) continue;
    sum += variances[k];
    squares += variances[k] * variances[k];
  }
  return sum + kPairVariance * (sum * sum - squares);
}

}  // namespace

Savings FitSavings(absl::Span<const SeenSaving> seen, absl::Span<const double> expected,
                   absl::Span<const double> traffic) {
  const size_t n = expected.size();
  Savings savings = {.of_one = {expected.begin(), expected.end()}};
  if (n == 0) return savings;
  const std::vector<double> variances = Variances(traffic);
  Matrix matrix(seen.size(), std::vector<double>(seen.size()));
  std::vector<double> residuals;
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t j = 0; j < seen.size(); ++j) {
      matrix[i][j] = Covariance(seen[i].set, seen[j].set, variances);
    }
    matrix[i][i] += kNoiseVariance;
    double residual = seen[i].cycles;
    for (size_t k = 0; k < n; ++k) residual -= Has(seen[i].set, k) ? expected[k] : 0;
    residuals.push_back(residual);
  }
  const std::vector<double> weights = SolveSymmetric(std::move(matrix), std::move(residuals));
  savings.of_pairs.assign(PairIndex(0, n), 0);
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t k = 0; k < n; ++k) {
      if (!Has(seen[i].set, k)) continue;
      savings.of_one[k] += variances[k] * weights[i];
      for (size_t j = 0; j < k; ++j) {
        if (!Has(seen[i].set, j)) continue;
        savings.of_pairs[PairIndex(j, k)] +=
            2 * kPairVariance * variances[j] * variances[k] * weights[i];
      }
    }
  }
  const auto is_zero = [](double cycles) { return cycles == 0; };
  if (std::all_of(savings.of_pairs.begin(), savings.of_pairs.end(), is_zero)) {
    savings.of_pairs.clear();
  }
  return savings;
}

}  // namespace mallocmuzero
