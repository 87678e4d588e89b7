// The Lagrangian relaxation of mapping a program: an upper bound on what any mapping saves.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_DUAL_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_DUAL_H_

#include <vector>

#include "simulator/bound/buffer_chains.h"
#include "simulator/bound/chain_plan.h"
#include "simulator/bound/instruction_terms.h"
#include "simulator/bound/link_spans.h"
#include "simulator/bound/prices.h"
#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// A valid mapping has the following properties. Maximising the saved cycles with these properties
// alone gives at least what a mapping can save:
//   - During each instruction the buffers in fast memory fit into it. (Their addresses are
//     ignored.)
//   - During each instruction few large buffers are in fast memory (kLargeLimits).
//   - During each instruction copies move at most the bandwidth that the instruction leaves; more
//     bytes move only while the program waits, at the full rate of HBM.
//   - Each buffer's value is made, kept, copied and used in an order that is possible.
// The dual takes the first three properties into the objective, with prices, and it also prices
// each access, so that instructions (InstructionTerms) and buffers (ChainPlanner) choose apart from
// each other. Its value is an upper bound for every choice of prices.
class Dual {
 public:
  // The program must outlive the dual.
  Dual(const Program& program, const Counted& counted);

  // The value at some prices, cycles of one run, and a subgradient: how the value changes when a
  // price grows.
  double Evaluate(const Prices& prices, Prices& subgradient);

  // The cycles that are saved if fast memory holds every tensor and copies take no time.
  double UnlimitedSavedCycles() const { return instructions_.most_saved(); }

  // Prices of 0 for bandwidth, and for each access what it saves alone. The price of memory is this
  // share of the rent at which all savings together pay for all of the memory all of the time.
  Prices FirstPrices(double memory_share) const;

  // The most that a price of bandwidth may be, by instruction.
  const IndexVector<InstructionIndex, double>& wait_prices() const { return wait_prices_; }

  double capacity() const { return capacity_; }

  // What the best plans of the buffers use at the prices of the last Evaluate.
  const Usage& usage() const { return usage_; }

 private:
  const Program& program_;
  const double capacity_;  // bytes
  const std::vector<BufferChain> chains_;
  const InstructionTerms instructions_;
  ChainPlanner planner_;
  IndexVector<InstructionIndex, double> wait_prices_;
  // 0 at loop markers, where carried buffers share bytes.
  IndexVector<InstructionIndex, uint8_t> counts_memory_;
  Usage usage_;
  IndexVector<AccessIndex, double> chosen_;
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_DUAL_H_
