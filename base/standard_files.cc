#include "base/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>

namespace mallocmuzero {

void ReserveStandardFiles() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(file, F_GETFD) >= 0 || errno != EBADF) continue;
    // Gets the lowest free number, which is this one. The wrong direction lets reads and writes
    // fail. Programs that this process starts inherit it.
    [[maybe_unused]] const int opened =
        open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace mallocmuzero
