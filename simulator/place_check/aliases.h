// Checks aliases of operands and results that a placed fusion states and the original does not.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ALIASES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ALIASES_H_

#include <string>

#include "simulator/place_check/graph.h"

namespace mallocmuzero::place_check {

// Describes what is wrong with the output_operand_aliasing of the placed instruction, or returns ""
// if it is right. The instruction must have all aliases of the original. If it is a fusion, it may
// have more, but only those of operands and results that the original's backend_config lists as
// aliasing, which means that the compiler itself updated the operand in place. Such an operand
// gives its buffer to one result only.
std::string AliasFault(const Instruction& original, const Graph& placed, int computation,
                       int instruction);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ALIASES_H_
