// Links calls to the computations that they name, and bounds how deep calls nest.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_CALL_GRAPH_H_
#define MALLOCMUZERO_SIMULATOR_HLO_CALL_GRAPH_H_

#include <vector>

#include "simulator/hlo/instruction_parser.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// Most calls inside each other; real programs stay below 10.
inline constexpr int kMaxCallDepth = 128;

// Enters the computations named in `calls` into the module, and sets each wrapped opcode that
// depends on a called computation. Returns false, with the lexer's error set, if a computation does
// not exist, calls itself directly or through others, or calls nest deeper than kMaxCallDepth. Code
// that follows the calls of a module may therefore recurse.
bool ResolveCalls(Lexer& lexer, const std::vector<PendingCall>& calls, Module& module);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_CALL_GRAPH_H_
