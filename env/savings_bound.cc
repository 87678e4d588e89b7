#include "env/savings_bound.h"

#include <algorithm>
#include <cstdint>

namespace mallocmuzero {

std::vector<double> ElapsedCycles(const Program& program) {
  std::vector<double> elapsed(1, 0);
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    elapsed.push_back(elapsed.back() +
                      program.latency().Cycles(i, 0) * program.instructions()[i].execution_count);
  }
  return elapsed;
}

std::vector<double> SavingsBounds(const Program& program) {
  std::vector<double> savings(program.buffer_count(), 0);
  const auto& baseline = program.proto().baseline().mapping().in_fast_memory();
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const Instruction& instruction = program.instructions()[i];
    uint64_t baseline_mask = 0;
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      const int access = static_cast<int>(instruction.first_access + k);
      if (access < baseline.size() && baseline[access]) baseline_mask |= uint64_t{1} << k;
    }
    const uint64_t all = instruction.access_count == kMaxAccessesPerInstruction
                             ? ~uint64_t{0}
                             : (uint64_t{1} << instruction.access_count) - 1;
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      const uint64_t bit = uint64_t{1} << k;
      double most = 0;
      for (const uint64_t others : {uint64_t{0}, all, baseline_mask}) {
        most = std::max(most, program.latency().Cycles(i, others & ~bit) -
                                  program.latency().Cycles(i, others | bit));
      }
      savings[program.accesses()[instruction.first_access + k].buffer] +=
          most * instruction.execution_count;
    }
  }
  return savings;
}

}  // namespace mallocmuzero
