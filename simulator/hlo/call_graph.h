// Links the computations that instructions name, and bounds how deep calls nest.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_CALL_GRAPH_H_
#define MALLOCMUZERO_SIMULATOR_HLO_CALL_GRAPH_H_

#include <vector>

#include "simulator/hlo/instruction_parser.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// Calls in calls that are accepted; real programs stay below 10.
inline constexpr int kMaxCallDepth = 128;

// Enters the computations named in `calls` into the module and fills the wrapped opcodes that need
// them. False with the lexer's error set if one does not exist, calls itself through others, or
// calls nest deeper than kMaxCallDepth; so whoever follows calls may recurse.
bool ResolveCalls(Lexer& lexer, const std::vector<PendingCall>& calls, Module& module);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_CALL_GRAPH_H_
