// The search of good prices for the dual.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_PRICE_SEARCH_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_PRICE_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/index.h"
#include "simulator/bound/dual.h"
#include "simulator/bound/link_spans.h"
#include "simulator/bound/prices.h"
#include "simulator/core/indices.h"
#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// The length of a step, and what Adam's averages lack because they began at 0.
struct StepSize {
  double length = 0;
  double mean_correction = 1;
  double square_correction = 1;
};

// Adam's averages (Kingma and Ba, 2015) of the subgradient and of its square, for one kind of
// prices.
template <typename I>
class PriceMover {
 public:
  explicit PriceMover(size_t count) : mean_(count, 0), square_(count, 0) {}

  // How far price k moves against its subgradient.
  double Move(I k, double subgradient, const StepSize& step);

 private:
  IndexVector<I, double> mean_;
  IndexVector<I, double> square_;
};

// Minimises the dual by subgradients. The search sees all prices in one unit, cycles: a price of
// memory times the capacity, a price of a large buffer times their limit, a price of bandwidth
// times the bytes that HBM moves during the instruction, a price of an access.
//
// Thread-compatible; the arguments must outlive it.
class PriceSearch {
 public:
  // Begins at Dual::FirstPrices.
  PriceSearch(const Program& program, const Counted& counted, double memory_share);

  // Moves the prices against the subgradient. `progress` is the share of the search that is over:
  // steps become shorter. One step takes time linear in the program's length, apart from
  // logarithms.
  void Step(double progress);

  // The steps so far.
  uint32_t steps() const { return steps_; }

  // The dual, and its value at the present prices, cycles of one run.
  const Dual& dual() const { return dual_; }
  double value() const { return value_; }

 private:
  void Move(const StepSize& step);

  Dual dual_;
  Prices prices_;
  Prices subgradient_;
  double value_;
  double first_length_;  // of a step, cycles
  uint32_t steps_ = 0;
  PriceMover<InstructionIndex> memory_;
  std::vector<PriceMover<InstructionIndex>> large_;  // by limit
  PriceMover<InstructionIndex> bandwidth_;
  PriceMover<AccessIndex> access_;
  // The bytes that HBM moves during one execution of each instruction.
  IndexVector<InstructionIndex, double> bytes_;
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_PRICE_SEARCH_H_
