#include "base/make_folder.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero {

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(path, ": cannot make this folder: ", error.message()));
}

}  // namespace mallocmuzero
