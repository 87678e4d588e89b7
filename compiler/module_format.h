// Which of the compiler's input formats a file is in.

#ifndef MALLOCMUZERO_COMPILER_MODULE_FORMAT_H_
#define MALLOCMUZERO_COMPILER_MODULE_FORMAT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// "hlo" for a serialized xla.HloModuleProto, "mlir" for StableHLO, as bytecode or as text: PJRT's
// names. InvalidArgument, starting with `name`, for HLO text, which the compiler does not take, and
// for anything else.
absl::StatusOr<std::string> ModuleFormat(absl::string_view bytes, absl::string_view name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_MODULE_FORMAT_H_
