// States in a placed fusion which operands it updates in place.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_IN_PLACE_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_IN_PLACE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/module.h"
#include "simulator/import/structure/program_source.h"

namespace mallocmuzero::place {

// Adds output_operand_aliasing to `fusion`, the placed form of `original`. An operand and a result
// get an alias if both are in fast memory, and they share a buffer only because every compile of
// the program lists them as aliasing. An example is a training step whose new weights replace the
// old ones.
//
// Without the alias, the compiler gives such a result the bytes of its operand only if the
// operand's value was made by the operand itself, not if a copy made it
// (HeapSimulator::RunComputation in xla/service/heap_simulator/heap_simulator.cc). With the alias,
// it always does. An alias needs equal shapes; pairs of different shapes get none.
void StateAliases(const ProgramSource& source, const hlo::Instruction& original,
                  absl::Span<const xla::ShapeProto> operand_shapes, int64_t fast_memory_space,
                  xla::HloInstructionProto& fusion);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_IN_PLACE_H_
