// Writes XLA's message of a compiled module as HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// Bytes of text that a module may have: a name that is used often is a short number in the message.
inline constexpr size_t kMaxPrintedBytes = size_t{1} << 31;

// Text that ParseModule reads as it reads what XLA prints of the module: computations and
// instructions under their names, in the order of the schedule (of the message, where there is
// none), an instruction a line. An asynchronous computation that only wraps one instruction is
// printed as XLA does, in place: `slice-start(%x), slice={...}`. Parameters and results of
// computations, source tables, shardings, frontend attributes, literals that are not
// scalars, and what print_attributes.h names are left out.
//
// InvalidArgument, one line that names computation and instruction, if an id names nothing or
// something twice, a name is none, an operand does not stand before its use or a callee before its
// caller (as XLA stores them), the schedule is not a permutation, or the text would be longer than
// `max_bytes`. Names that are taken twice, layouts and sizes are left to ParseModule.
absl::StatusOr<std::string> PrintModule(const xla::HloModuleProto& module,
                                        size_t max_bytes = kMaxPrintedBytes);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_
