// Wraps PJRT's C API: converts errors to statuses and checks the version. Only for pjrt.cc.

#ifndef MALLOCMUZERO_COMPILER_PJRT_API_H_
#define MALLOCMUZERO_COMPILER_PJRT_API_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt/pjrt_c_api.h"

namespace mallocmuzero {

// Arguments of a call, all zero except their size, which tells the library the caller's version.
template <typename Args>
Args PjrtArgs() {
  Args args = {};
  args.struct_size = sizeof(Args);
  return args;
}

// True if the library has the function. Newer functions are at the end of the API's struct.
template <typename Function>
bool HasFunction(const PJRT_Api& api, Function* const PJRT_Api::*function) {
  const auto* begin = reinterpret_cast<const char*>(&api);
  const auto* end = reinterpret_cast<const char*>(&(api.*function) + 1);
  return end - begin <= api.struct_size && api.*function != nullptr;
}

// The initialised API of the library at that path, which stays loaded. FailedPrecondition if it is
// no PJRT plugin, or lacks functions that pjrt.cc always calls.
absl::StatusOr<const PJRT_Api*> LoadPjrtApi(const std::string& library);

// Converts `error` to a status with the library's own code, and frees it. OK for nullptr.
absl::Status TakePjrtError(const PJRT_Api& api, PJRT_Error* error);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_PJRT_API_H_
