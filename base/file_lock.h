// Locks of files between processes.

#ifndef MALLOCMUZERO_BASE_FILE_LOCK_H_
#define MALLOCMUZERO_BASE_FILE_LOCK_H_

#include <string>

namespace mallocmuzero {

// Locks the open file for as long as the descriptor is open. Returns false if another process has
// the lock. On a file system without locks it returns true and logs the path, because no other
// process is kept out.
bool LockFile(int descriptor, const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_FILE_LOCK_H_
