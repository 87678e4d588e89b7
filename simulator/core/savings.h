// Cycles that fast memory saves, and cycles that pass with everything in HBM.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_SAVINGS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_SAVINGS_H_

#include <cstdint>
#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero {

// Cycles of all executions that access k of the instruction saves in fast memory, while those of
// the other accesses that are in `others` are there, too. May be negative. Bit k of `others` is
// ignored.
double SavingAmong(const Program& program, InstructionIndex instruction, uint32_t k,
                   uint64_t others);

// By access, the saving with the other accesses of the instruction in HBM, and with all of them in
// fast memory.
IndexVector<AccessIndex, double> FindSavings(const Program& program);
IndexVector<AccessIndex, double> FindLastSavings(const Program& program);

// The savings for each byte and cycle if they are spread evenly over all bytes of the fast memory
// for `cycles`. Negative savings count as 0.
double SavingsDensityUnit(const Program& program, IndexSpan<AccessIndex, const double> savings,
                          double cycles);

// Cycles with everything in HBM, over all executions: entry i is the sum of all instructions before
// instruction i, and the last entry the sum of all instructions.
IndexVector<InstructionIndex, double> CyclesBefore(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_SAVINGS_H_
