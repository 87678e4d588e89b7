// Writes XLA's message of a compiled module as HLO text.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"

namespace mallocmuzero::hlo {

// The most bytes of text for a module. The message can be much shorter, since it refers to a name
// by a short number.
inline constexpr size_t kMaxPrintedBytes = size_t{1} << 31;

// The module as text. ParseModule reads it as it reads XLA's own text of the module.
//   - Computations and instructions have their names and stand in the order of the schedule, or of
//     the message where there is no schedule. Each instruction takes one line.
//   - An asynchronous computation that only wraps one instruction is printed in place, as XLA does:
//     `slice-start(%x), slice={...}`.
//   - Parameters and results of computations, source tables, shardings, frontend attributes,
//     literals that are not scalars, and the attributes that print_attributes.h names are left out.
//
// InvalidArgument, one line that names computation and instruction, in these cases:
//   - An id names nothing, an id is taken twice, or a name is malformed.
//   - An operand does not stand before its use, or a callee before its caller. XLA stores them so.
//   - The schedule is not a permutation.
//   - The text would be longer than `max_bytes`.
//
// ParseModule reports names that are taken twice and errors in layouts and sizes.
absl::StatusOr<std::string> PrintModule(const xla::HloModuleProto& module,
                                        size_t max_bytes = kMaxPrintedBytes);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_PRINT_MODULE_H_
