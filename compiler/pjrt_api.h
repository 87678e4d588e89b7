// PJRT's C API with statuses, and with its version checked. For pjrt.cc only.

#ifndef MALLOCMUZERO_COMPILER_PJRT_API_H_
#define MALLOCMUZERO_COMPILER_PJRT_API_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt/pjrt_c_api.h"

namespace mallocmuzero {

// Arguments of a call, all zero but for their size, which tells the library how old the caller is.
template <typename Args>
Args PjrtArgs() {
  Args args = {};
  args.struct_size = sizeof(Args);
  return args;
}

// True if the library has the function: newer ones stand at the API's end.
template <typename Function>
bool HasFunction(const PJRT_Api& api, Function* const PJRT_Api::*function) {
  const auto* begin = reinterpret_cast<const char*>(&api);
  const auto* end = reinterpret_cast<const char*>(&(api.*function) + 1);
  return static_cast<size_t>(end - begin) <= api.struct_size && api.*function != nullptr;
}

// The API of the library at that path, which stays loaded, and is initialised. FailedPrecondition
// if it is no PJRT plugin, or lacks what pjrt.cc calls without asking.
absl::StatusOr<const PJRT_Api*> LoadPjrtApi(const std::string& library);

// OK for nullptr; frees `error`. The code is the library's own.
absl::Status TakePjrtError(const PJRT_Api& api, PJRT_Error* error);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_PJRT_API_H_
