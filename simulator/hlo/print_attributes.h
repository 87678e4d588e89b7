// Prints the attributes of an instruction, from XLA's messages, as they follow its operands in HLO
// text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_

#include <string>

#include "absl/status/status.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Appends ", name=value" for each attribute that belongs to the opcode. Names, values and order are
// those of XLA's printer (PrintExtraAttributesImpl in xla/hlo/ir/hlo_instructions.cc), so that a
// printed module equals one that XLA printed. Calls and control predecessors need the names of
// other instructions and are not appended here.
//
// The simulator needs no other attributes, and leaves out these: epsilon, configurations of infeed
// and outfeed, options of triangular-solve and cholesky, domains, literals of custom calls, and dot
// algorithms.
//
// InvalidArgument, one line, if a shape is malformed, or by AppendReplicaGroups.
absl::Status AppendOwnAttributes(const xla::HloInstructionProto& instruction, std::string& out);

// Appends op_name of the metadata and the backend_config. JSON is appended as it is, any other
// bytes in quotes.
void AppendCompilerNotes(const xla::HloInstructionProto& instruction, std::string& out);

// The text between the parentheses of a constant: the value if it is a scalar of the usual types,
// else {...}.
std::string LiteralText(const xla::LiteralProto& literal);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_ATTRIBUTES_H_
