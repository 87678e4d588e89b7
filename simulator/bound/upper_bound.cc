#include "simulator/bound/upper_bound.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "simulator/bound/dual.h"

namespace mallocmuzero {
namespace {

using bound::Dual;
using bound::Prices;

// After this many steps without a better bound, steps become shorter.
constexpr uint32_t kPatience = 100;
constexpr double kShorter = 0.9;
constexpr double kShortestStep = 1e-4;

// How much of the last direction a step keeps when the subgradient turns back.
constexpr double kDeflection = 1.5;

// Minimises the dual. All prices become variables of one unit, cycles: a price of memory times the
// capacity, a price of bandwidth times the bytes that HBM moves during the instruction, a price of
// an access. `Prices` stands for any vector with one entry for each price.
class PriceSearch {
 public:
  PriceSearch(const Program& program, const UpperBoundOptions& options)
      : options_(options), dual_(program), prices_(dual_.FirstPrices()) {
    const double rate = program.hardware().hbm_bytes_per_cycle();
    for (uint32_t i = 0; i < program.instruction_count(); ++i) {
      bytes_.push_back(std::max(1.0, program.latency().Cycles(i, 0) * rate));
    }
    direction_.memory.assign(prices_.memory.size(), 0);
    direction_.bandwidth.assign(prices_.bandwidth.size(), 0);
    direction_.access.assign(prices_.access.size(), 0);
  }

  UpperBound Run() {
    UpperBound best;
    double value = dual_.Evaluate(prices_, subgradient_);
    best.saved_cycles = value;
    best.prices = prices_;
    double length = 1;
    uint32_t unimproved = 0;
    while (best.steps < options_.steps && length > kShortestStep &&
           absl::Now() < options_.deadline) {
      Deflect();
      const double square = Product(direction_, direction_);
      if (square == 0) break;
      Move(length * (value - options_.known_saved_cycles) / square);
      value = dual_.Evaluate(prices_, subgradient_);
      ++best.steps;
      if (value < best.saved_cycles) {
        best.saved_cycles = value;
        best.prices = prices_;
        unimproved = 0;
      } else if (++unimproved == kPatience) {
        unimproved = 0;
        length *= kShorter;
      }
    }
    return best;
  }

 private:
  // Makes the next direction, in scaled variables, of the subgradient and the last direction.
  void Deflect() {
    Scale(subgradient_);
    const double turn = Product(subgradient_, direction_);
    const double square = Product(direction_, direction_);
    const double keep = turn < 0 && square > 0 ? -kDeflection * turn / square : 0;
    const auto combine = [keep](std::vector<double>& direction, const std::vector<double>& change) {
      for (size_t k = 0; k < direction.size(); ++k) direction[k] = change[k] + keep * direction[k];
    };
    combine(direction_.memory, subgradient_.memory);
    combine(direction_.bandwidth, subgradient_.bandwidth);
    combine(direction_.access, subgradient_.access);
  }

  void Scale(Prices& subgradient) const {
    for (size_t i = 0; i < subgradient.memory.size(); ++i) {
      subgradient.memory[i] /= dual_.capacity();
      subgradient.bandwidth[i] /= bytes_[i];
    }
  }

  static double Product(const Prices& a, const Prices& b) {
    double sum = 0;
    for (size_t i = 0; i < a.memory.size(); ++i) {
      sum += a.memory[i] * b.memory[i] + a.bandwidth[i] * b.bandwidth[i];
    }
    for (size_t k = 0; k < a.access.size(); ++k) sum += a.access[k] * b.access[k];
    return sum;
  }

  void Move(double step) {
    for (size_t i = 0; i < prices_.memory.size(); ++i) {
      double& memory = prices_.memory[i];
      memory = std::max(0.0, memory - step * direction_.memory[i] / dual_.capacity());
      double& bandwidth = prices_.bandwidth[i];
      bandwidth = std::clamp(bandwidth - step * direction_.bandwidth[i] / bytes_[i], 0.0,
                             dual_.wait_prices()[i]);
    }
    for (size_t a = 0; a < prices_.access.size(); ++a) {
      prices_.access[a] -= step * direction_.access[a];
    }
  }

  const UpperBoundOptions& options_;
  Dual dual_;
  Prices prices_;
  Prices subgradient_;
  Prices direction_;
  std::vector<double> bytes_;  // that HBM moves during one execution of each instruction
};

}  // namespace

UpperBound FindUpperBound(const Program& program, const UpperBoundOptions& options) {
  return PriceSearch(program, options).Run();
}

}  // namespace mallocmuzero
