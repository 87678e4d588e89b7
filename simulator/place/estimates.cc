#include "simulator/place/estimates.h"

#include "absl/strings/match.h"

namespace mallocmuzero::place {

void StripEstimates(xla::HloInstructionProto& instruction) {
  // The configuration of a custom call is the program that it runs, so it must stay.
  if (instruction.opcode() == "custom-call") return;
  if (!absl::StrContains(instruction.backend_config(), "\"estimated_cycles\"")) return;
  instruction.clear_backend_config();
}

}  // namespace mallocmuzero::place
