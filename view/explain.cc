#include "view/explain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "view/comparison.h"
#include "view/explain_words.h"
#include "view/format.h"
#include "view/names.h"

namespace mallocmuzero::view {
namespace {

// True if both mappings have the buffer in fast memory, and copy it, at the same times. Addresses
// do not matter.
bool SameStays(const Side& a, const Side& b, BufferIndex buffer) {
  const std::vector<size_t>& of_a = a.intervals_of_buffer[buffer];
  const std::vector<size_t>& of_b = b.intervals_of_buffer[buffer];
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [&](size_t k, size_t j) {
    Interval moved = a.mapping.intervals[k];
    moved.offset = b.mapping.intervals[j].offset;
    return moved == b.mapping.intervals[j];
  });
}

// One reason for every buffer that differs, largest gain or loss first.
std::vector<Reason> ReasonsOfBuffers(const Comparison& comparison, const Names& names) {
  const Program& program = comparison.program;
  const IndexVector<AccessIndex, double> gains = GainsOfAccesses(comparison);
  std::vector<Reason> reasons;
  for (const BufferIndex b : program.buffers().indices()) {
    Reason reason = {.buffer = b, .bytes = program.buffers()[b].bytes};
    for (const AccessIndex a : program.AccessesOfBuffer(b)) {
      const bool differs = (comparison.ours.mapping.in_fast_memory[a] != 0) !=
                           (comparison.reference.mapping.in_fast_memory[a] != 0);
      if (!differs) continue;
      const InstructionIndex i = program.accesses()[a].instruction;
      if (reason.instructions.empty() || reason.instructions.back() != i) {
        reason.instructions.push_back(i);
      }
      reason.cycles_gained += gains[a];
    }
    if (reason.instructions.empty() && SameStays(comparison.ours, comparison.reference, b)) {
      continue;
    }
    reason.tensor = names.Tensor(b);
    reason.shape = names.Shape(b);
    reasons.push_back(std::move(reason));
  }
  std::stable_sort(reasons.begin(), reasons.end(), [](const Reason& a, const Reason& b) {
    return std::abs(a.cycles_gained) > std::abs(b.cycles_gained);
  });
  return reasons;
}

}  // namespace

std::vector<Reason> Explain(const Program& program, const Mapping& ours, const Mapping& reference,
                            int limit) {
  const Comparison comparison = {program, {program, ours}, {program, reference}};
  const Names names(program);
  std::vector<Reason> reasons = ReasonsOfBuffers(comparison, names);
  const size_t listed = std::min<size_t>(reasons.size(), std::max(limit, 0));
  Reason rest = {.kind = Reason::Kind::kRest};
  for (size_t k = listed; k < reasons.size(); ++k) rest.cycles_gained += reasons[k].cycles_gained;
  rest.why = absl::StrCat(FormatCounted(static_cast<double>(reasons.size() - listed),
                                        listed > 0 ? "other tensor" : "tensor"));
  const bool has_rest = listed < reasons.size();
  reasons.resize(listed);
  for (Reason& reason : reasons) {
    reason.why = BufferWords(comparison, names, reason.buffer, reason.cycles_gained);
  }
  const double stalls = comparison.ours.trace.price.stall_cycles;
  const double reference_stalls = comparison.reference.trace.price.stall_cycles;
  if (stalls > 0 || reference_stalls > 0) {
    reasons.push_back({.kind = Reason::Kind::kStalls,
                       .cycles_gained = reference_stalls - stalls,
                       .why = StallWords(comparison, names)});
  }
  if (has_rest) reasons.push_back(std::move(rest));
  return reasons;
}

}  // namespace mallocmuzero::view
