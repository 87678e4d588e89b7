// Makes folders.

#ifndef MALLOCMUZERO_BASE_MAKE_FOLDER_H_
#define MALLOCMUZERO_BASE_MAKE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace mallocmuzero {

// Makes the folder and those that it is in, if they do not exist. Errors are those of ErrnoStatus
// (base/file_io.h) and name the folder.
absl::Status MakeFolder(const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_MAKE_FOLDER_H_
