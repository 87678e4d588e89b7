// The aliases of operands and results that a placed fusion states and the original does not.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ALIASES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ALIASES_H_

#include <string>

#include "simulator/place_check/graph.h"

namespace mallocmuzero::place_check {

// Says what is wrong with the output_operand_aliasing of the placed instruction; empty if nothing
// is. It must have all of the original's. It may have more if it is a fusion. The original's
// backend_config must then list operand and result as aliasing: the compiler itself has updated the
// operand in place.
std::string AliasFault(const Instruction& original, const Graph& placed, int computation,
                       int instruction);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ALIASES_H_
