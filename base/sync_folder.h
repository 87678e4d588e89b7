// Makes files and names of files survive a power cut.

#ifndef MALLOCMUZERO_BASE_SYNC_FOLDER_H_
#define MALLOCMUZERO_BASE_SYNC_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace mallocmuzero {

// Waits until the disk has what the folder contains by now: the names of its files and folders, but
// not the contents of these. Here and in SyncFiles: ResourceExhausted if there is no room
// (IsNoRoom), else Unavailable. Some file systems cannot sync folders.
absl::Status SyncFolder(const std::string& folder);

// Does the same, with the contents of the files. Leaves out those of the folders.
absl::Status SyncFiles(const std::string& folder);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_SYNC_FOLDER_H_
