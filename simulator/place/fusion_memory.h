// Copies the memory spaces of a fusion's operands and results to the computation that it calls.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_FUSION_MEMORY_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_FUSION_MEMORY_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/place/module_editor.h"

namespace mallocmuzero::place {

// Gives the parameters of the fused computation the shapes of the operands, and its root the shape
// of the result. If the root is a tuple, its elements get their shapes, too, and so do inner
// fusions that take a parameter or make a result. libtpu refuses a fused computation whose shapes
// differ from those of its fusion. `fusion.shape` must be set. FailedPrecondition as
// OwnFusedComputation.
absl::Status SetFusedMemory(ModuleEditor& editor, xla::HloInstructionProto& fusion,
                            absl::Span<const xla::ShapeProto> operand_shapes);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_FUSION_MEMORY_H_
