#include "simulator/place/estimates.h"

namespace mallocmuzero::place {

void StripEstimates(xla::HloInstructionProto& instruction) {
  if (instruction.opcode() == "fusion") instruction.clear_backend_config();
}

}  // namespace mallocmuzero::place
