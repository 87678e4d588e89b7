// Reads one instruction of HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_INSTRUCTION_PARSER_H_
#define MALLOCMUZERO_SIMULATOR_HLO_INSTRUCTION_PARSER_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// A computation named by an instruction. It is looked up when all computations are known.
struct PendingCall {
  ComputationIndex caller;
  InstructionIndex instruction;
  int32_t slot;  // index into Instruction::called_computations
  absl::string_view callee;
  const char* position;  // where the callee's name is, for errors
};

// The surroundings of an instruction. Operands are looked up in `computation`, which holds the
// instructions before it. Calls are appended to `calls`.
struct InstructionContext {
  const Computation& computation;
  ComputationIndex computation_index;
  InstructionIndex instruction_index;
  std::vector<PendingCall>& calls;
};

// Reads `[ROOT] %name = shape opcode(operands), attribute=value, ...`. Returns false, with the
// lexer's error set, if the text is no instruction. Does not add the name to the computation. The
// indices of called computations are -1 until ResolveCalls sets them.
bool ParseInstruction(Lexer& lexer, const InstructionContext& context, Instruction& instruction);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_INSTRUCTION_PARSER_H_
