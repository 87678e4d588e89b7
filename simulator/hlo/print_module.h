// Prints XLA's message of a compiled module as HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Most bytes of text for a module. The message can be much shorter than its text, because it refers
// to instructions by short numbers instead of names.
inline constexpr size_t kMaxPrintedBytes = size_t{1} << 31;

// The module as text. ParseModule reads it as it reads XLA's own text of the module.
//   - Computations and instructions keep their names. They are printed in the order of the
//     schedule, or of the message if there is no schedule. Each instruction takes one line.
//   - An asynchronous computation that only wraps one instruction is printed in place, as XLA does:
//     `slice-start(%x), slice={...}`.
//   - Left out are parameters and results of computations, source tables, shardings, frontend
//     attributes, literals that are not scalars, and the attributes listed in print_attributes.h.
//
// InvalidArgument, one line that names computation and instruction, in these cases:
//   - An id refers to nothing, an id occurs twice, or a name is malformed.
//   - An operand does not come before its use, or a callee does not come before its caller. XLA
//     always stores them in this order.
//   - The schedule is not a permutation.
//   - The text would be longer than `max_bytes`.
//
// Names that occur twice, and errors in layouts and sizes, are left to ParseModule to report.
absl::StatusOr<std::string> PrintModule(const xla::HloModuleProto& module,
                                        size_t max_bytes = kMaxPrintedBytes);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_
