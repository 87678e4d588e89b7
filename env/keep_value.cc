#include "env/keep_value.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/program.h"
#include "simulator/core/savings.h"

namespace mallocmuzero {
namespace {

// Share of the memory by which rounding may make a value that just fits look too large.
constexpr double kRounding = 1e-9;

// Bytes that are kept, by time. Two Fenwick trees over the instructions: one of the changes in kept
// bytes, and one of the changes times the cycles before them.
class KeptBytes {
 public:
  // `elapsed` is what CyclesBefore returns; it must outlive this object.
  explicit KeptBytes(absl::Span<const double> elapsed)
      : elapsed_(elapsed), changes_(elapsed.size() + 1), moments_(elapsed.size() + 1) {}

  // Keeps `bytes` for instructions from `first` to before `end`.
  void Add(size_t first, size_t end, double bytes) {
    Change(first, bytes);
    Change(end, -bytes);
  }

  // Bytes times cycles, of instructions from `first` to before `end`.
  double Between(size_t first, size_t end) const { return Before(end) - Before(first); }

 private:
  void Change(size_t at, double bytes) {
    for (size_t k = at + 1; k < changes_.size(); k += k & (~k + 1)) {
      changes_[k] += bytes;
      moments_[k] += bytes * elapsed_[at];
    }
  }

  // Bytes times cycles of all instructions before `end`.
  double Before(size_t end) const {
    double bytes = 0;
    double moment = 0;
    for (size_t k = end; k > 0; k -= k & (~k + 1)) {
      bytes += changes_[k];
      moment += moments_[k];
    }
    return bytes * elapsed_[end] - moment;
  }

  const absl::Span<const double> elapsed_;
  std::vector<double> changes_;
  std::vector<double> moments_;
};

// A value that can be kept for `access`, during the instructions from `first` to before `end`.
struct Candidate {
  uint32_t access = 0;
  size_t first = 0;
  size_t end = 0;
  double bytes = 0;
  double savings_density = 0;
};

std::vector<Candidate> FindCandidates(const ProgramRules& rules, absl::Span<const double> savings,
                                      absl::Span<const double> elapsed) {
  const Program& program = rules.program();
  const double unit = SavingsDensityUnit(program, savings, elapsed.back());
  std::vector<Candidate> candidates;
  for (uint32_t b = 0; b < program.buffer_count(); ++b) {
    const absl::Span<const uint32_t> accesses = program.AccessesOfBuffer(b);
    for (size_t k = 1; k < accesses.size(); ++k) {
      const Access& access = program.accesses()[accesses[k]];
      if (access.kind == AccessKind::kWrite) continue;
      Candidate candidate;
      candidate.access = accesses[k];
      candidate.first = program.accesses()[accesses[k - 1]].instruction + size_t{1};
      candidate.end = rules.SpanEnd(access.instruction, rules.buffer(b).defining_loop) + size_t{1};
      candidate.bytes = static_cast<double>(rules.buffer(b).bytes);
      // The time can be 0, such as between two accesses of one instruction. It counts as a cycle.
      const double cycles = std::max(1.0, elapsed[candidate.end] - elapsed[candidate.first]);
      if (unit > 0)
        candidate.savings_density = savings[candidate.access] / (candidate.bytes * cycles) / unit;
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

}  // namespace

double SavingsDensityUnit(const Program& program, absl::Span<const double> savings, double cycles) {
  double all_savings = 0;
  for (const double saving : savings) all_savings += std::max(0.0, saving);
  return all_savings /
         (static_cast<double>(program.hardware().fast_memory_bytes()) * std::max(1.0, cycles));
}

std::vector<KeepValue> FindKeepValues(const ProgramRules& rules, absl::Span<const double> savings) {
  const std::vector<double> elapsed = CyclesBefore(rules.program());
  std::vector<Candidate> candidates = FindCandidates(rules, savings, elapsed);
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.savings_density > b.savings_density;
  });
  const auto capacity = static_cast<double>(rules.program().hardware().fast_memory_bytes());
  KeptBytes kept(elapsed);
  std::vector<KeepValue> values(rules.access_count());
  for (const Candidate& candidate : candidates) {
    const double cycles = elapsed[candidate.end] - elapsed[candidate.first];
    const double occupied =
        cycles > 0 ? kept.Between(candidate.first, candidate.end) / cycles / capacity : 0;
    values[candidate.access] = {
        .exists = true, .savings_density = candidate.savings_density, .occupied = occupied};
    const bool is_taken =
        candidate.savings_density > 0 && occupied + candidate.bytes / capacity <= 1 + kRounding;
    if (is_taken) kept.Add(candidate.first, candidate.end, candidate.bytes);
  }
  return values;
}

}  // namespace mallocmuzero
