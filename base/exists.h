// Whether there is a file.

#ifndef MALLOCMUZERO_BASE_EXISTS_H_
#define MALLOCMUZERO_BASE_EXISTS_H_

#include <filesystem>
#include <system_error>

namespace mallocmuzero {

// True if there is a file or folder at `path`. A path that cannot be looked at, such as one too
// long, is as good as none.
inline bool Exists(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_EXISTS_H_
