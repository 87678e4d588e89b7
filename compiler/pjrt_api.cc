#include "compiler/pjrt_api.h"

#include <dlfcn.h>

#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

// Version 0.57 put the functions that are called here into their present order; none of them is
// newer.
constexpr int kOldestMinorVersion = 57;

std::string VersionText(int major, int minor) { return absl::StrCat(major, ".", minor); }

absl::Status CheckVersion(const PJRT_Api& api, const std::string& library) {
  const PJRT_Api_Version& version = api.pjrt_api_version;
  if (api.struct_size >= offsetof(PJRT_Api, PJRT_Error_Destroy) &&
      version.major_version == PJRT_API_MAJOR && version.minor_version >= kOldestMinorVersion) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      library, ": has version ", VersionText(version.major_version, version.minor_version),
      " of PJRT's C API; ", VersionText(PJRT_API_MAJOR, kOldestMinorVersion),
      " or a newer one of the same major version expected"));
}

absl::Status CheckFunctions(const PJRT_Api& api, const std::string& library) {
  const bool complete = HasFunction(api, &PJRT_Api::PJRT_Error_Destroy) &&
                        HasFunction(api, &PJRT_Api::PJRT_Error_Message) &&
                        HasFunction(api, &PJRT_Api::PJRT_Error_GetCode) &&
                        HasFunction(api, &PJRT_Api::PJRT_Plugin_Initialize) &&
                        HasFunction(api, &PJRT_Api::PJRT_TopologyDescription_Create) &&
                        HasFunction(api, &PJRT_Api::PJRT_TopologyDescription_Destroy) &&
                        HasFunction(api, &PJRT_Api::PJRT_Compile) &&
                        HasFunction(api, &PJRT_Api::PJRT_Executable_Destroy) &&
                        HasFunction(api, &PJRT_Api::PJRT_Executable_OptimizedProgram) &&
                        HasFunction(api, &PJRT_Api::PJRT_Executable_Serialize);
  if (complete) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      library, ": lacks a function that compiling for a topology needs, in version ",
      VersionText(api.pjrt_api_version.major_version, api.pjrt_api_version.minor_version),
      " of PJRT's C API"));
}

}  // namespace

absl::StatusOr<const PJRT_Api*> LoadPjrtApi(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("cannot load the compiler: ", dlerror()));
  }
  const auto get_api =
      reinterpret_cast<const PJRT_Api* (*)()>(dlsym(handle, "GetPjrtApi"));  // null if absent
  const PJRT_Api* api = get_api == nullptr ? nullptr : get_api();
  if (api == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(library, ": is no PJRT plugin: it has no function GetPjrtApi"));
  }
  absl::Status status = CheckVersion(*api, library);
  if (status.ok()) status = CheckFunctions(*api, library);
  if (!status.ok()) return status;
  auto initialize = PjrtArgs<PJRT_Plugin_Initialize_Args>();
  status = TakePjrtError(*api, api->PJRT_Plugin_Initialize(&initialize));
  if (status.ok()) return api;
  return absl::FailedPreconditionError(
      absl::StrCat(library, ": cannot be initialised: ", status.message()));
}

absl::Status TakePjrtError(const PJRT_Api& api, PJRT_Error* error) {
  if (error == nullptr) return absl::OkStatus();
  auto code = PjrtArgs<PJRT_Error_GetCode_Args>();
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  PJRT_Error* nested = api.PJRT_Error_GetCode(&code);
  auto message = PjrtArgs<PJRT_Error_Message_Args>();
  message.error = error;
  api.PJRT_Error_Message(&message);
  absl::Status status(static_cast<absl::StatusCode>(code.code),
                      absl::string_view(message.message, message.message_size));
  if (status.ok()) status = absl::UnknownError("an error without a code");
  for (PJRT_Error* done : {error, nested}) {
    if (done == nullptr) continue;
    auto destroy = PjrtArgs<PJRT_Error_Destroy_Args>();
    destroy.error = done;
    api.PJRT_Error_Destroy(&destroy);
  }
  return status;
}

}  // namespace mallocmuzero
