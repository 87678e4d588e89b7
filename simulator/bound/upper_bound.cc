#include "simulator/bound/upper_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/steady_clock.h"
#include "simulator/bound/dual.h"
#include "simulator/bound/link_spans.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {
namespace {

using bound::Counted;
using bound::Dual;
using bound::FindLinkSpans;
using bound::kLargeLimits;
using bound::LinkSpan;
using bound::OutsideOf;
using bound::Prices;

// Adam's averages (Kingma and Ba, 2015) of the subgradient and of its square.
constexpr double kMeanDecay = 0.9;
constexpr double kSquareDecay = 0.99;
constexpr double kSmallRoot = 1e-3;  // keeps the first steps of rarely changed prices short

// The length of the first step, as a share of what an access saves on average, and of the last step
// as a share of the first. Subgradients do not become small near the optimum, so that only shorter
// steps come close to it.
constexpr double kFirstStep = 0.5;
constexpr double kLastStep = 1e-3;

// The place in the search: how long steps are, and what Adam's averages lack because they began at
// 0.
struct StepSize {
  double length = 0;
  double mean_correction = 1;
  double square_correction = 1;
};

// Adam's averages for one kind of prices.
template <typename I>
class PriceMover {
 public:
  explicit PriceMover(size_t count) : mean_(count, 0), square_(count, 0) {}

  // How far price k moves against its subgradient.
  double Move(I k, double subgradient, const StepSize& step) {
    mean_[k] += (1 - kMeanDecay) * (subgradient - mean_[k]);
    square_[k] += (1 - kSquareDecay) * (subgradient * subgradient - square_[k]);
    const double root = std::sqrt(square_[k] * step.square_correction);
    return step.length * mean_[k] * step.mean_correction / (root + kSmallRoot);
  }

 private:
  IndexVector<I, double> mean_;
  IndexVector<I, double> square_;
};

// Minimises the dual. The search sees all prices in one unit, cycles: a price of memory times the
// capacity, a price of a large buffer times their limit, a price of bandwidth times the bytes that
// HBM moves during the instruction, a price of an access.
class PriceSearch {
 public:
  PriceSearch(const Program& program, const Counted& counted, const UpperBoundOptions& options)
      : options_(options),
        dual_(program, counted),
        prices_(dual_.FirstPrices()),
        memory_(prices_.memory.size()),
        large_(kLargeLimits, PriceMover<InstructionIndex>(prices_.memory.size())),
        bandwidth_(prices_.bandwidth.size()),
        access_(prices_.access.size()) {
    const double rate = program.hardware().hbm_bytes_per_cycle();
    for (const InstructionIndex i : program.instructions().indices()) {
      bytes_.push_back(std::max(1.0, program.latency().Cycles(i, 0) * rate));
    }
  }

  UpperBound Run() {
    UpperBound best;
    best.unlimited_saved_cycles = dual_.UnlimitedSavedCycles();
    const double first_value = dual_.Evaluate(prices_, subgradient_);
    // The first prices may be worse than prices of 0, at which the dual is what a memory without
    // limits saves.
    best.saved_cycles = std::min(first_value, best.unlimited_saved_cycles);
    const double accesses = std::max<double>(1, static_cast<double>(prices_.access.size()));
    const double first_length = kFirstStep * first_value / accesses;
    const absl::Time start = SteadyNow();
    for (absl::Time now = start; best.steps < options_.steps && now < options_.deadline;
         now = SteadyNow()) {
      // A search that will not finish its steps must shorten them sooner. Without a deadline the
      // second share is 0.
      const double progress = std::max(static_cast<double>(best.steps) / options_.steps,
                                       absl::FDivDuration(now - start, options_.deadline - start));
      ++best.steps;
      Move({.length = first_length * std::pow(kLastStep, progress),
            .mean_correction = 1 / (1 - std::pow(kMeanDecay, best.steps)),
            .square_correction = 1 / (1 - std::pow(kSquareDecay, best.steps))});
      best.saved_cycles = std::min(best.saved_cycles, dual_.Evaluate(prices_, subgradient_));
    }
    return best;
  }

 private:
  void Move(const StepSize& step) {
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

  const UpperBoundOptions& options_;
  Dual dual_;
  Prices prices_;
  Prices subgradient_;
  PriceMover<InstructionIndex> memory_;
  std::vector<PriceMover<InstructionIndex>> large_;  // by limit
  PriceMover<InstructionIndex> bandwidth_;
  PriceMover<AccessIndex> access_;
  IndexVector<InstructionIndex, double>
      bytes_;  // that HBM moves during one execution of each instruction
};

// The cycles of one execution of each instruction: with every access in fast memory that may be
// there if `fast` is set, else with everything in HBM.
IndexVector<InstructionIndex, double> CyclesOfInstructions(const Program& program, bool fast) {
  IndexVector<InstructionIndex, double> cycles;
  for (const InstructionIndex i : program.instructions().indices()) {
    uint64_t mask = 0;
    for (uint32_t k = 0; fast && k < program.instructions()[i].access_count; ++k) {
      const Access& access = program.accesses()[program.instructions()[i].first_access + k];
      if (!program.buffers()[access.buffer].pinned_to_hbm) mask |= uint64_t{1} << k;
    }
    cycles.push_back(program.latency().Cycles(i, mask));
  }
  return cycles;
}

// The bound if the program takes at least as long as the links in `spans` and the instructions
// outside.
UpperBound BoundWithSpans(const Program& program, absl::Span<const LinkSpan> spans,
                          const UpperBoundOptions& options) {
  const Counted counted = OutsideOf(program, spans);
  UpperBound bound = PriceSearch(program, counted, options).Run();
  if (program.link_events().empty()) return bound;
  double outside = 0;
  for (const InstructionIndex i : program.instructions().indices()) {
    outside += counted.executions[i] * program.latency().Cycles(i, 0);
  }
  for (const LinkSpan& span : spans) outside += span.cycles;
  // All-HBM may take longer than the spans and the instructions outside. A mapping may save that.
  const double rest = SimulateAllHbm(program).total_cycles - outside;
  bound.saved_cycles += rest;
  bound.unlimited_saved_cycles += rest;
  return bound;
}

}  // namespace

// Each choice of spans gives a valid bound. The links take longer than the instructions more often
// if these are fast.
UpperBound FindUpperBound(const Program& program, const UpperBoundOptions& options) {
  if (program.link_events().empty()) return BoundWithSpans(program, {}, options);
  const std::vector<LinkSpan> slow =
      FindLinkSpans(program, CyclesOfInstructions(program, /*fast=*/false));
  const std::vector<LinkSpan> fast =
      FindLinkSpans(program, CyclesOfInstructions(program, /*fast=*/true));
  if (fast == slow) return BoundWithSpans(program, slow, options);
  UpperBoundOptions half = options;
  half.deadline = SteadyNow() + (options.deadline - SteadyNow()) / 2;
  const UpperBound first = BoundWithSpans(program, fast, half);
  const UpperBound second = BoundWithSpans(program, slow, options);
  const UpperBound& best = first.saved_cycles < second.saved_cycles ? first : second;
  return {.saved_cycles = best.saved_cycles,
          .unlimited_saved_cycles =
              std::min(first.unlimited_saved_cycles, second.unlimited_saved_cycles),
          .steps = best.steps};
}

}  // namespace mallocmuzero
