// Says in a placed fusion which operands it updates in place.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_IN_PLACE_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_IN_PLACE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/hlo/module.h"
#include "simulator/import/program_source.h"

namespace mallocmuzero::place {

// Adds output_operand_aliasing to `fusion`, the placed form of `original`. Pairs of an operand and
// a result get it if they are both in fast memory and share a buffer only because every compile of
// the program lists them as aliasing: a training step's new weights in the place of the old ones,
// for example. In a placed module the compiler gives such a result the bytes of its operand by
// itself only if the operand's own instruction made the value, not if a copy did
// (HeapSimulator::RunComputation in xla/service/heap_simulator/heap_simulator.cc). A stated alias
// holds always. It needs equal shapes, so pairs of different shapes are left out.
void StateAliases(const ProgramSource& source, const hlo::Instruction& original,
                  absl::Span<const xla::ShapeProto> operand_shapes, int64_t fast_memory_space,
                  xla::HloInstructionProto& fusion);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_IN_PLACE_H_
