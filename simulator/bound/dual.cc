#include "simulator/bound/dual.h"

#include <algorithm>

#include "absl/types/span.h"
#include "simulator/bound/aligned_bytes.h"
#include "simulator/core/savings.h"

namespace mallocmuzero::bound {

Dual::Dual(const Program& program, const Counted& counted)
    : program_(program),
      capacity_(AlignedCapacity(program.hardware())),
      chains_(FindBufferChains(program)),
      instructions_(program, counted.executions),
      planner_(program, counted.waits) {
  const double rate = program.hardware().hbm_bytes_per_cycle();
  for (const InstructionIndex i : program.instructions().indices()) {
    wait_prices_.push_back(counted.waits[i] / rate);
    counts_memory_.push_back(IsMarker(program.instructions()[i].kind) ? 0 : 1);
  }
}

Prices Dual::FirstPrices(double memory_share) const {
  Prices prices;
  prices.memory.assign(program_.instruction_count(), 0);
  for (IndexVector<InstructionIndex, double>& large : prices.large)
    large.assign(program_.instruction_count(), 0);
  prices.bandwidth.assign(program_.instruction_count(), 0);
  prices.access = FindSavings(program_);
  const IndexVector<InstructionIndex, double> before = CyclesBefore(program_);
  const double rent = memory_share * SavingsDensityUnit(program_, prices.access, before.back());
  for (const InstructionIndex i : program_.instructions().indices()) {
    if (counts_memory_[i] != 0) prices.memory[i] = rent * (before[i + 1] - before[i]);
  }
  return prices;
}

double Dual::Evaluate(const Prices& prices, Prices& subgradient) {
  const InstructionIndex n = program_.instructions().end_index();
  usage_.memory_change.assign(n + 1, 0);
  for (IndexVector<InstructionIndex, double>& large : usage_.large_change) large.assign(n + 1, 0);
  usage_.bandwidth.assign(n, 0);
  usage_.accesses.assign(program_.access_count(), 0);
  usage_.stays.assign(program_.access_count(), 0);
  chosen_.assign(program_.access_count(), 0);
  double value = 0;
  planner_.SetPrices(prices);
  for (const BufferChain& chain : chains_) value += planner_.Plan(chain, usage_);

  subgradient.memory.resize(n);
  subgradient.bandwidth.resize(n);
  subgradient.access.resize(program_.access_count());
  double memory = 0;
  for (InstructionIndex i = 0; i < n; ++i) {
    memory += usage_.memory_change[i];
    const InstructionChoice choice = instructions_.Best(i, prices.bandwidth[i], prices.access,
                                                        IndexSpan<AccessIndex, double>(chosen_));
    value += choice.worth + prices.memory[i] * capacity_;
    subgradient.memory[i] = counts_memory_[i] != 0 ? capacity_ - memory : 0;
    subgradient.bandwidth[i] = choice.idle_bytes - usage_.bandwidth[i];
  }
  for (size_t k = 0; k < kLargeLimits; ++k) {
    const double limit = static_cast<double>(k + 1);
    subgradient.large[k].resize(n);
    double large = 0;
    for (InstructionIndex i = 0; i < n; ++i) {
      large += usage_.large_change[k][i];
      value += prices.large[k][i] * limit;
      subgradient.large[k][i] = counts_memory_[i] != 0 ? limit - large : 0;
    }
  }
  for (const AccessIndex a : program_.accesses().indices()) {
    subgradient.access[a] = usage_.accesses[a] - chosen_[a];
  }
  return value;
}

}  // namespace mallocmuzero::bound
