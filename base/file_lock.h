// Locks of files between processes.

#ifndef MALLOCMUZERO_BASE_FILE_LOCK_H_
#define MALLOCMUZERO_BASE_FILE_LOCK_H_

#include <string>

namespace mallocmuzero {

// Locks the open file for as long as the descriptor is open. False: another process has the lock.
// A file system without locks keeps no process out: then the log says so, with the path.
bool LockFile(int descriptor, const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_FILE_LOCK_H_
