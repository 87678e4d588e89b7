#include "view/comparison.h"

#include <cstddef>

namespace mallocmuzero::view {
namespace {

// Adds to gains[k] the share of access k in the difference between two placements of the
// instruction, in cycles of one execution. The accesses that differ change from one placement to
// the other one by one, and each change is charged to its access. The share is the mean over
// several orders: all rotations of the accesses' order and of its reverse.
void ShareDifference(const LatencyTable& latency, InstructionIndex instruction,
                     uint64_t reference_mask, uint64_t our_mask, double* gains) {
  std::vector<int> differing;
  for (int k = 0; k < kMaxAccessesPerInstruction; ++k) {
    if (((reference_mask ^ our_mask) >> k & 1) != 0) differing.push_back(k);
  }
  const size_t count = differing.size();
  const double weight = 1 / (2 * static_cast<double>(count));
  for (size_t start = 0; start < count; ++start) {
    for (const bool reversed : {false, true}) {
      uint64_t mask = reference_mask;
      double before = latency.Cycles(instruction, mask);
      for (size_t step = 0; step < count; ++step) {
        const size_t position = (start + (reversed ? count - step : step)) % count;
        mask ^= uint64_t{1} << differing[position];
        const double after = latency.Cycles(instruction, mask);
        gains[differing[position]] += weight * (before - after);
        before = after;
      }
    }
  }
}

}  // namespace

Side::Side(const Program& program, const Mapping& the_mapping)
    : mapping(the_mapping),
      trace(SimulateTrace(program, the_mapping)),
      intervals_of_buffer(program.buffer_count()) {
  for (size_t k = 0; k < mapping.intervals.size(); ++k) {
    intervals_of_buffer[mapping.intervals[k].buffer].push_back(k);
  }
}

IndexVector<AccessIndex, double> GainsOfAccesses(const Comparison& comparison) {
  const Program& program = comparison.program;
  IndexVector<AccessIndex, double> gains(program.access_count(), 0);
  for (const InstructionIndex i : program.instructions().indices()) {
    const uint64_t reference_mask =
        FastMask(program, i, comparison.reference.mapping.in_fast_memory);
    const uint64_t our_mask = FastMask(program, i, comparison.ours.mapping.in_fast_memory);
    if (reference_mask == our_mask) continue;
    const Instruction& instruction = program.instructions()[i];
    double* const own = &gains[instruction.first_access];
    ShareDifference(program.latency(), i, reference_mask, our_mask, own);
    for (uint32_t k = 0; k < instruction.access_count; ++k) own[k] *= instruction.execution_count;
  }
  return gains;
}

}  // namespace mallocmuzero::view
