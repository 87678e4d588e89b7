// Removes estimates of the compiler that belong to another placement.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_

#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place {

// Removes the tiles of a fusion, and the cycles that the compiler estimated for them. The compiler
// would keep them, but it must choose them again for the new placement. Settings that determine
// what is computed (flags, trip counts, integer configurations) stay.
void StripEstimates(xla::HloInstructionProto& instruction);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_
