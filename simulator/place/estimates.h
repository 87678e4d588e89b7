// Removes estimates of the compiler that belong to another placement.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_

#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place {

// Removes the whole backend_config of an instruction for which it has estimated_cycles. The
// compiler would keep the tiles in it, but it must choose them again for the new placement. Custom
// calls keep theirs, because it is the program that they run, and so do instructions without an
// estimate, such as loops with their trip counts.
void StripEstimates(xla::HloInstructionProto& instruction);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_
