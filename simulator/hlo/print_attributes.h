// What stands behind the operands of an instruction in HLO text, from XLA's messages.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_

#include <string>

#include "absl/status/status.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Appends ", name=value" for each attribute that belongs to the opcode, with the names, values and
// order of XLA's printer (PrintExtraAttributesImpl in xla/hlo/ir/hlo_instructions.cc), so that two
// modules can be matched of which one was text. Calls and control predecessors, which need names of
// other instructions, are not among them. Left out, because nothing here reads them: replica groups
// and their like, epsilon, configurations of infeed and outfeed, options of triangular-solve and
// cholesky, domains, literals of custom calls, dot algorithms. InvalidArgument, one line, for a
// shape that is none.
absl::Status AppendOwnAttributes(const xla::HloInstructionProto& instruction, std::string& out);

// Appends op_name of the metadata and the backend_config: JSON as it stands, other bytes quoted.
void AppendCompilerNotes(const xla::HloInstructionProto& instruction, std::string& out);

// What stands between the parentheses of a constant: the value of a scalar of the usual types,
// {...} of any other.
std::string LiteralText(const xla::LiteralProto& literal);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_
