// Finds and loads program files that commands and configurations name, as files or as folders.

#ifndef MALLOCMUZERO_ENV_PROGRAM_FILES_H_
#define MALLOCMUZERO_ENV_PROGRAM_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "env/program_set.h"

namespace mallocmuzero {

// Paths of every .program and .program.zst below `folder`, sorted, without hidden files and folders
// (".NAME"). Follows links to folders. NotFound if a folder cannot be read, with its path.
absl::StatusOr<std::vector<std::string>> FindPrograms(const std::string& folder);

// The programs of these files and of all files below these folders. Errors name the file, or the
// folder that has none, or say what is wrong with the set.
absl::StatusOr<ProgramSet> LoadPrograms(absl::Span<const std::string> files_or_folders);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_PROGRAM_FILES_H_
