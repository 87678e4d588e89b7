#include "base/make_folder.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "base/file_io.h"

namespace mallocmuzero {

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? ErrnoStatus(path, "cannot make this folder", error.value()) : absl::OkStatus();
}

}  // namespace mallocmuzero
