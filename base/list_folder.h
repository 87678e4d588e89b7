// Lists the files and folders in a folder.

#ifndef MALLOCMUZERO_BASE_LIST_FOLDER_H_
#define MALLOCMUZERO_BASE_LIST_FOLDER_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// All entries of the folder, sorted by path, without those of its subfolders. Errors are those of
// ErrnoStatus (base/file_io.h): NotFound if there is no such folder. A folder that cannot be read
// to its end is an error, too, where a loop over a directory_iterator would throw.
absl::StatusOr<std::vector<std::filesystem::directory_entry>> ListFolder(const std::string& folder);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_LIST_FOLDER_H_
