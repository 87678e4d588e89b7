// Reads what the compiler wrote into an instruction's backend_config: estimates, trip counts,
// memory.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_BACKEND_CONFIG_H_
#define MALLOCMUZERO_SIMULATOR_HLO_BACKEND_CONFIG_H_

#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// Reads the value of backend_config= and fills in the fields of `instruction` that come from it. In
// HLO text the JSON object appears either as it is or in double quotes. A quoted string that is no
// JSON object is skipped, and so are braces that hold no JSON. A negative number of cycles or
// iterations means "unknown" and is dropped. Returns false, with the lexer's error set, if the
// value is malformed.
bool ParseBackendConfig(Lexer& lexer, Instruction& instruction);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_BACKEND_CONFIG_H_
