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
  explicit KeptBytes(IndexSpan<InstructionIndex, const double> elapsed)
      : elapsed_(elapsed), changes_(elapsed.size() + 1), moments_(elapsed.size() + 1) {}

  // Keeps `bytes` for instructions from `first` to before `end`.
  void Add(InstructionIndex first, InstructionIndex end, double bytes) {
    Change(first, bytes);
    Change(end, -bytes);
  }

  // Bytes times cycles, of instructions from `first` to before `end`.
  double Between(InstructionIndex first, InstructionIndex end) const {
    return Before(end) - Before(first);
  }

 private:
  void Change(InstructionIndex at, double bytes) {
    for (size_t k = at.number() + 1; k < changes_.size(); k += k & (~k + 1)) {
      changes_[k] += bytes;
      moments_[k] += bytes * elapsed_[at];
    }
  }

  // Bytes times cycles of all instructions before `end`.
  double Before(InstructionIndex end) const {
    double bytes = 0;
    double moment = 0;
    for (size_t k = end.number(); k > 0; k -= k & (~k + 1)) {
      bytes += changes_[k];
      moment += moments_[k];
    }
    return bytes * elapsed_[end] - moment;
  }

  const IndexSpan<InstructionIndex, const double> elapsed_;
  std::vector<double> changes_;
  std::vector<double> moments_;
};

// A value that can be kept for `access`, during the instructions from `first` to before `end`.
struct Candidate {
  AccessIndex access = 0;
  InstructionIndex first = 0;
  InstructionIndex end = 0;
  double bytes = 0;
  double savings_density = 0;
};

std::vector<Candidate> FindCandidates(const ProgramRules& rules,
                                      IndexSpan<AccessIndex, const double> savings,
                                      IndexSpan<InstructionIndex, const double> elapsed) {
  const Program& program = rules.program();
  const double unit = SavingsDensityUnit(program, savings, elapsed.back());
  std::vector<Candidate> candidates;
  for (const BufferIndex b : program.buffers().indices()) {
    const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(b);
    for (size_t k = 1; k < accesses.size(); ++k) {
      const Access& access = program.accesses()[accesses[k]];
      if (access.kind == AccessKind::kWrite) continue;
      Candidate candidate;
      candidate.access = accesses[k];
      candidate.first = program.accesses()[accesses[k - 1]].instruction + 1;
      candidate.end = rules.SpanEnd(access.instruction, rules.buffer(b).defining_loop) + 1;
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

IndexVector<AccessIndex, KeepValue> FindKeepValues(const ProgramRules& rules,
                                                   IndexSpan<AccessIndex, const double> savings) {
  const IndexVector<InstructionIndex, double> elapsed = CyclesBefore(rules.program());
  std::vector<Candidate> candidates = FindCandidates(rules, savings, elapsed);
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return a.savings_density > b.savings_density;
  });
  const auto capacity = static_cast<double>(rules.program().hardware().fast_memory_bytes());
  KeptBytes kept(elapsed);
  IndexVector<AccessIndex, KeepValue> values(rules.access_count());
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
