#include "base/file_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log.h"

namespace mallocmuzero {

bool LockFile(int descriptor, const std::string& path) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
  const int error = errno;
  if (error == EWOULDBLOCK) return false;
  Log(LogLevel::kWarning, "lock",
      absl::StrCat(path, ": this file system has no locks (", std::strerror(error),
                   "): nothing keeps a second process out"));
  return true;
}

}  // namespace mallocmuzero
