#include "base/list_folder.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_io.h"

namespace mallocmuzero {

absl::StatusOr<std::vector<std::filesystem::directory_entry>> ListFolder(
    const std::string& folder) {
  std::vector<std::filesystem::directory_entry> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    entries.push_back(*entry);
  }
  if (error) return ErrnoStatus(folder, "cannot read this folder", error.value());
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace mallocmuzero
