#include "simulator/place/estimates.h"

#include "absl/strings/match.h"

namespace mallocmuzero::place {

void StripEstimates(xla::HloInstructionProto& instruction) {
  if (instruction.opcode() == "custom-call") return;
  if (!absl::StrContains(instruction.backend_config(), "\"estimated_cycles\"")) return;
  instruction.clear_backend_config();
}

}  // namespace mallocmuzero::place
