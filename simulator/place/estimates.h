// What the compiler noted of an instruction under another placement.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_

#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::place {

// Removes what the compiler must work out anew for a placement: the tiles of a fusion and the
// cycles that it estimated for them. Left in place they would be carried over as they are. Settings
// that decide what is computed (flags, trip counts, integer configurations) stay.
void StripEstimates(xla::HloInstructionProto& instruction);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_ESTIMATES_H_
