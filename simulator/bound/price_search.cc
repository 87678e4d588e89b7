#include "simulator/bound/price_search.h"

#include <algorithm>
#include <cmath>

namespace mallocmuzero::bound {
namespace {

// The decay of Adam's averages.
constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.99;
constexpr double kSmallRoot = 1e-3;  // keeps the first steps of rarely changed prices short

// The length of the first step, as a share of what an access saves on average, and of the last step
// as a share of the first. Subgradients do not become small near the optimum, so that only shorter
// steps come close to it.
constexpr double kFirstStep = 0.5;
constexpr double kLastStep = 1e-3;

}  // namespace

template <typename I>
double PriceMover<I>::Move(I k, double subgradient, const StepSize& step) {
  mean_[k] += (1 - kMeanDecay) * (subgradient - mean_[k]);
  square_[k] += (1 - kSquareDecay) * (subgradient * subgradient - square_[k]);
  const double root = std::sqrt(square_[k] * step.square_correction);
  return step.length * mean_[k] * step.mean_correction / (root + kSmallRoot);
}

PriceSearch::PriceSearch(const Program& program, const Counted& counted, double memory_share)
    : dual_(program, counted),
      prices_(dual_.FirstPrices(memory_share)),
      value_(dual_.Evaluate(prices_, subgradient_)),
      first_length_(kFirstStep * value_ / std::max<double>(1, program.access_count())),
      memory_(prices_.memory.size()),
      large_(kLargeLimits, PriceMover<InstructionIndex>(prices_.memory.size())),
      bandwidth_(prices_.bandwidth.size()),
      access_(prices_.access.size()) {
  const double rate = program.hardware().hbm_bytes_per_cycle();
  for (const InstructionIndex i : program.instructions().indices()) {
    bytes_.push_back(std::max(1.0, program.latency().Cycles(i, 0) * rate));
  }
}

void PriceSearch::Step(double progress) {
  ++steps_;
  Move({.length = first_length_ * std::pow(kLastStep, progress),
        .mean_correction = 1 / (1 - std::pow(kMeanDecay, steps_)),
        .square_correction = 1 / (1 - std::pow(kSquareDecay, steps_))});
  value_ = dual_.Evaluate(prices_, subgradient_);
}

void PriceSearch::Move(const StepSize& step) {
  const double capacity = dual_.capacity();
  for (const InstructionIndex i : prices_.memory.indices()) {
    const double memory = memory_.Move(i, subgradient_.memory[i] / capacity, step);
    prices_.memory[i] = std::max(0.0, prices_.memory[i] - memory / capacity);
    const double bandwidth = bandwidth_.Move(i, subgradient_.bandwidth[i] / bytes_[i], step);
    prices_.bandwidth[i] =
        std::clamp(prices_.bandwidth[i] - bandwidth / bytes_[i], 0.0, dual_.wait_prices()[i]);
  }
  for (size_t k = 0; k < kLargeLimits; ++k) {
    const double limit = static_cast<double>(k + 1);
    for (const InstructionIndex i : prices_.memory.indices()) {
      double& price = prices_.large[k][i];
      const double move = large_[k].Move(i, subgradient_.large[k][i] / limit, step) / limit;
      price = std::max(0.0, price - move);
    }
  }
  for (const AccessIndex a : prices_.access.indices()) {
    prices_.access[a] -= access_.Move(a, subgradient_.access[a], step);
  }
}

}  // namespace mallocmuzero::bound
