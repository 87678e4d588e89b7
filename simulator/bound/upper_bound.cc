#include "simulator/bound/upper_bound.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/steady_clock.h"
#include "simulator/bound/link_spans.h"
#include "simulator/bound/price_search.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {
namespace {

using bound::Counted;
using bound::FindLinkSpans;
using bound::LinkSpan;
using bound::OutsideOf;
using bound::PriceSearch;

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

// The least value of the dual that a search of prices finds.
UpperBound LeastDual(const Program& program, const Counted& counted,
                     const UpperBoundOptions& options) {
  PriceSearch search(program, counted, /*memory_share=*/0);
  UpperBound best;
  best.unlimited_saved_cycles = search.dual().UnlimitedSavedCycles();
  // The first prices may be worse than prices of 0, at which the dual is what a memory without
  // limits saves.
  best.saved_cycles = std::min(search.value(), best.unlimited_saved_cycles);
  const absl::Time start = SteadyNow();
  for (absl::Time now = start; search.steps() < options.steps && now < options.deadline;
       now = SteadyNow()) {
    // A search that will not finish its steps must shorten them sooner. Without a deadline the
    // second share is 0.
    search.Step(std::max(static_cast<double>(search.steps()) / options.steps,
                         absl::FDivDuration(now - start, options.deadline - start)));
    best.saved_cycles = std::min(best.saved_cycles, search.value());
  }
  return best;
}

// The bound if the program takes at least as long as the links in `spans` and the instructions
// outside.
UpperBound BoundWithSpans(const Program& program, absl::Span<const LinkSpan> spans,
                          const UpperBoundOptions& options) {
  const Counted counted = OutsideOf(program, spans);
  UpperBound bound = LeastDual(program, counted, options);
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
  return {.saved_cycles = std::min(first.saved_cycles, second.saved_cycles),
          .unlimited_saved_cycles =
              std::min(first.unlimited_saved_cycles, second.unlimited_saved_cycles)};
}

}  // namespace mallocmuzero
