// Writes the attributes behind the operands of an instruction in HLO text, from XLA's messages.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_

#include <string>

#include "absl/status/status.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Appends ", name=value" for each attribute that belongs to the opcode. Names, values and order are
// those of XLA's printer (PrintExtraAttributesImpl in xla/hlo/ir/hlo_instructions.cc). A module can
// thus be matched with one that was text. Calls and control predecessors need names of other
// instructions and are not appended here.
//
// Attributes that nothing here reads are left out. These are replica groups and their like,
// epsilon, configurations of infeed and outfeed, options of triangular-solve and cholesky, domains,
// literals of custom calls, and dot algorithms.
//
// InvalidArgument, one line, if a shape is malformed.
absl::Status AppendOwnAttributes(const xla::HloInstructionProto& instruction, std::string& out);

// Appends op_name of the metadata and the backend_config: JSON as it stands, other bytes quoted.
void AppendCompilerNotes(const xla::HloInstructionProto& instruction, std::string& out);

// The text between the parentheses of a constant: the value of a scalar of the usual types, {...}
// for any other constant.
std::string LiteralText(const xla::LiteralProto& literal);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_
