#include "optimize/packed_solve.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "env/program_rules.h"
#include "simulator/core/fast_memory_share.h"
#include "simulator/core/latency_table.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

constexpr int kSearches = 5;

// After a mapping that does not fit, the next search gets this share of the most bytes that lived
// at the same time in that mapping. With more memory, the search could find the same mapping again.
constexpr double kShrink = 0.98;

// At most kMostLeftOut intervals are left out of one mapping, and for each of them kTried intervals
// are tried. An interval is tried only if it has at least kShareOfExcess of the missing bytes.
constexpr int kMostLeftOut = 8;
constexpr int kTried = 16;
constexpr double kShareOfExcess = 0.25;

// A mapping that can be placed.
struct Candidate {
  Solution solution;
  int64_t packed_bytes = 0;
  int64_t live_bytes = 0;
};

class PackedSolver {
 public:
  PackedSolver(const Program& program, const SolveOptions& options, PlaceMapping place)
      : program_(program),
        options_(options),
        place_(place),
        capacity_(program.hardware().fast_memory_bytes()) {}

  absl::StatusOr<Solution> Run() && {
    Solution best;
    best.mapping = AllHbmMapping(program_);
    best.cycles = Simulate(program_, best.mapping).total_cycles;
    best.solver = std::string(solver_name::kAllHbm);
    bool fits_something = false;
    absl::optional<Candidate> smallest;  // smallest of the candidates that do not fit
    const absl::Time end = options_.deadline + (options_.deadline - Now());
    double share = 1;
    for (int search = 0; search < kSearches && (search == 0 || !IsOver(end)); ++search) {
      const absl::StatusOr<Program> variant = WithFastMemoryShare(program_, share);
      if (!variant.ok()) break;  // the share is less than the alignment
      SolveOptions part = options_;
      if (search > 0) part.deadline = Now() + (end - Now()) / (kSearches - search);
      absl::StatusOr<Solution> solution =
          Solve(solver_name::kLocalSearch, ProgramRules::Create(*variant), part);
      if (!solution.ok()) return solution;
      if (solution->cycles >= best.cycles) break;
      absl::StatusOr<Candidate> found = Measure(*solution);
      if (!found.ok() && fits_something) break;
      if (!found.ok()) return solution;
      if (Fits(*found)) return *std::move(solution);
      share = std::min(share, static_cast<double>(found->live_bytes) / capacity_) * kShrink;
      absl::optional<Candidate> reduced = LeaveOut(*found, Now() + (end - Now()) / 2);
      if (reduced && reduced->solution.cycles < best.cycles) {
        best = std::move(reduced->solution);
        fits_something = true;
      }
      if (!smallest || found->packed_bytes < smallest->packed_bytes) smallest = *std::move(found);
    }
    return fits_something || !smallest ? best : smallest->solution;
  }

 private:
  absl::Time Now() const { return options_.clock(); }
  bool IsOver(absl::Time end) const { return Now() >= end || (options_.stop && options_.stop()); }
  bool Fits(const Candidate& candidate) const { return candidate.packed_bytes <= capacity_; }

  absl::StatusOr<Candidate> Measure(Solution solution) const {
    const absl::StatusOr<place::PlacedModule> placed = place_(solution.mapping);
    if (!placed.ok()) return placed.status();
    return Candidate{std::move(solution), placed->packed_bytes, placed->live_bytes};
  }

  // The same solution, but with one interval's accesses in HBM.
  Solution Without(const Solution& solution, size_t index) const {
    Solution without = solution;
    const Interval interval = solution.mapping.intervals[index];
    without.mapping.intervals.erase(without.mapping.intervals.begin() + index);
    for (const AccessIndex access : program_.AccessesOfBuffer(interval.buffer)) {
      const InstructionIndex instruction = program_.accesses()[access].instruction;
      if (interval.first <= instruction && instruction <= interval.last) {
        without.mapping.in_fast_memory[access] = 0;
      }
    }
    without.cycles = Simulate(program_, without.mapping).total_cycles;
    return without;
  }

  // A solution without one interval.
  struct Reduction {
    size_t interval = 0;
    double saving = 0;  // SavingOf the interval
    double cycles = 0;
    bool is_priced = false;  // `cycles` is known
  };

  // Cycles that the accesses of an interval save where they are, without the cost of its copies.
  double SavingOf(const Mapping& mapping, const Interval& interval) const {
    double saving = 0;
    for (const AccessIndex access : program_.AccessesOfBuffer(interval.buffer)) {
      const InstructionIndex i = program_.accesses()[access].instruction;
      if (i < interval.first || i > interval.last) continue;
      const Instruction& instruction = program_.instructions()[i];
      const uint64_t fast = FastMask(program_, i, mapping.in_fast_memory);
      const uint64_t own = uint64_t{1} << (access - instruction.first_access);
      const LatencyTable& latency = program_.latency();
      saving +=
          (latency.Cycles(i, fast & ~own) - latency.Cycles(i, fast)) * instruction.execution_count;
    }
    return saving;
  }

  // Reductions of a solution, the fastest first. Their mappings are not kept: a program of 20,000
  // instructions may have 10,000 of them, and each takes milliseconds to price. Half of the time up
  // to `end` is left to try them, so only those of the least savings may be among them.
  std::vector<Reduction> Reductions(const Candidate& candidate, absl::Time end) const {
    const auto excess = static_cast<double>(candidate.packed_bytes - capacity_);
    std::vector<Reduction> reductions;
    const Mapping& mapping = candidate.solution.mapping;
    for (size_t i = 0; i < mapping.intervals.size(); ++i) {
      const Interval& interval = mapping.intervals[i];
      const auto bytes = static_cast<double>(program_.buffers()[interval.buffer].bytes);
      if (bytes < excess * kShareOfExcess) continue;
      reductions.push_back({.interval = i, .saving = SavingOf(mapping, interval)});
    }
    PriceUntil(Now() + (end - Now()) / 2, candidate.solution, reductions);
    std::erase_if(reductions, [](const Reduction& reduction) { return !reduction.is_priced; });
    std::sort(reductions.begin(), reductions.end(),
              [](const Reduction& a, const Reduction& b) { return a.cycles < b.cycles; });
    return reductions;
  }

  // Prices reductions, those of the least savings first.
  void PriceUntil(absl::Time end, const Solution& solution,
                  std::vector<Reduction>& reductions) const {
    std::vector<Reduction*> order;
    for (Reduction& reduction : reductions) order.push_back(&reduction);
    std::stable_sort(order.begin(), order.end(),
                     [](const Reduction* a, const Reduction* b) { return a->saving < b->saving; });
    for (Reduction* reduction : order) {
      if (IsOver(end)) return;
      reduction->cycles = Without(solution, reduction->interval).cycles;
      reduction->is_priced = true;
    }
  }

  absl::optional<Candidate> LeaveOut(Candidate candidate, absl::Time end) const {
    for (int left_out = 0; left_out < kMostLeftOut; ++left_out) {
      absl::optional<Candidate> smallest;
      int tried = 0;
      for (const Reduction& reduction : Reductions(candidate, end)) {
        if (tried >= kTried || IsOver(end)) break;
        Solution solution = Without(candidate.solution, reduction.interval);
        if (!Validate(program_, solution.mapping).empty()) continue;
        ++tried;
        absl::StatusOr<Candidate> found = Measure(std::move(solution));
        if (!found.ok()) continue;
        if (Fits(*found)) return *std::move(found);
        if (!smallest || found->packed_bytes < smallest->packed_bytes) smallest = *std::move(found);
      }
      if (!smallest || smallest->packed_bytes >= candidate.packed_bytes) return absl::nullopt;
      candidate = *std::move(smallest);
    }
    return absl::nullopt;
  }

  const Program& program_;
  const SolveOptions& options_;
  PlaceMapping place_;
  int64_t capacity_;
};

}  // namespace

absl::StatusOr<Solution> SolveToPack(const Program& program, const SolveOptions& options,
                                     PlaceMapping place) {
  return PackedSolver(program, options, place).Run();
}

}  // namespace mallocmuzero
