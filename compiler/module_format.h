// Detects which of the compiler's input formats a file has.

#ifndef MALLOCMUZERO_COMPILER_MODULE_FORMAT_H_
#define MALLOCMUZERO_COMPILER_MODULE_FORMAT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// The format in PJRT's names: "hlo" for a serialised xla.HloModuleProto, "mlir" for StableHLO as
// bytecode or text. InvalidArgument, starting with `name`, for HLO text, which the compiler does
// not accept, and for anything else.
absl::StatusOr<std::string> ModuleFormat(absl::string_view bytes, absl::string_view name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_MODULE_FORMAT_H_
