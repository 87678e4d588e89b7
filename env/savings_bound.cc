#include "env/savings_bound.h"

#include <algorithm>
#include <cstdint>

#include "simulator/core/mapping.h"
#include "simulator/core/savings.h"

namespace mallocmuzero {

IndexVector<BufferIndex, double> SavingsBounds(const Program& program) {
  IndexVector<BufferIndex, double> savings(program.buffer_count(), 0);
  for (const InstructionIndex i : program.instructions().indices()) {
    const Instruction& instruction = program.instructions()[i];
    const uint64_t in_default =
        program.baseline() == nullptr
            ? 0
            : FastMask(program, i, program.baseline()->mapping.in_fast_memory);
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      double most = 0;
      for (const uint64_t others : {uint64_t{0}, AllAccesses(instruction), in_default}) {
        most = std::max(most, SavingAmong(program, i, k, others));
      }
      savings[program.accesses()[instruction.first_access + k].buffer] += most;
    }
  }
  return savings;
}

}  // namespace mallocmuzero
