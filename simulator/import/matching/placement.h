// The placement of one compile in terms of the program: which accesses it has in fast memory, and
// the cycles that the compiler estimates for that.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_PLACEMENT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_PLACEMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/matching/match.h"

namespace mallocmuzero {

// One instruction in a compile.
struct InstructionPlacement {
  uint64_t fast_accesses = 0;     // bit k: access k of the instruction is in fast memory
  absl::optional<double> cycles;  // the compiler's estimate for one execution, if there is one
};

// One compile.
struct Placement {
  std::string name;  // file name without folders
  // True if a placed module was compiled. The compiler then chose the tiles of each instruction for
  // the placement. In other compiles it chooses them before it knows the placement.
  bool of_placed_module = false;
  // For each instruction of the program; nullopt if the compile has no such instruction.
  std::vector<absl::optional<InstructionPlacement>> instructions;
};

// Reads the placement of `other` in terms of `program`, which was made from the all-HBM module. An
// access counts as in fast memory if any of its operands or outputs is.
Placement ReadPlacement(const v1::Program& program, const AnalyzedModule& other,
                        const Match& match);

// The cycles of the instructions that `match` leaves out, as `placement` has them, times execution
// counts.
double UnmatchedCycles(const v1::Program& program, const Placement& placement, const Match& match);

// True if an operand of a priced step (or its output, if position.operand is -1) has the array at
// position.tuple_index in fast memory.
bool IsInFastMemory(const AnalyzedModule& analyzed, const PricedStep& priced,
                    const v1::Position& position, int32_t fast_memory_space);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_PLACEMENT_H_
