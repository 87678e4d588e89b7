// Reads one instruction of HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_INSTRUCTION_PARSER_H_
#define MALLOCMUZERO_SIMULATOR_HLO_INSTRUCTION_PARSER_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// A computation named by an instruction, to be looked up when all computations are known.
struct PendingCall {
  ComputationIndex caller;
  InstructionIndex instruction;
  int32_t slot;  // into Instruction::called_computations
  absl::string_view callee;
  const char* position;  // of the callee's name, for errors
};

// Where an instruction stands: operands are looked up in `computation`, which holds the
// instructions before it, and calls are appended to `calls`.
struct InstructionContext {
  const Computation& computation;
  ComputationIndex computation_index;
  InstructionIndex instruction_index;
  std::vector<PendingCall>& calls;
};

// Reads `[ROOT] %name = shape opcode(operands), attribute=value, ...`. False with the lexer's error
// set if the text is none. The name is not added to the computation; called computations are -1.
bool ParseInstruction(Lexer& lexer, const InstructionContext& context, Instruction& instruction);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_INSTRUCTION_PARSER_H_
