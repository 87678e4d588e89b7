#include "learner/curriculum.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

constexpr double kEvenShare = 0.2;
constexpr double kMostRegret = 10;

}  // namespace

std::vector<double> ProgramWeights(absl::Span<const ProgramStanding> programs) {
  std::vector<double> weights;
  double sum = 0;
  for (const ProgramStanding& program : programs) {
    const double regret = program.mean_return.has_value()
                              ? (program.best_return - *program.mean_return) / program.scale
                              : kMostRegret;
    weights.push_back(std::clamp(regret, 0.0, kMostRegret));
    sum += weights.back();
  }
  const double even = 1 / static_cast<double>(programs.size());
  for (double& weight : weights) {
    weight = sum > 0 ? kEvenShare * even + (1 - kEvenShare) * weight / sum : even;
  }
  return weights;
}

}  // namespace mallocmuzero
