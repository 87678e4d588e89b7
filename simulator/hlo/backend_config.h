// What the compiler wrote into an instruction's backend_config: estimates, trip counts, memory.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_BACKEND_CONFIG_H_
#define MALLOCMUZERO_SIMULATOR_HLO_BACKEND_CONFIG_H_

#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// Reads the value of backend_config= and fills the fields of `instruction` that come from it. The
// JSON object stands in the text as it is or in double quotes; a quoted string that is no JSON
// object is skipped. A negative number of cycles or iterations means unknown and is dropped.
bool ParseBackendConfig(Lexer& lexer, Instruction& instruction);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_BACKEND_CONFIG_H_
