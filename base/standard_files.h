// The files with which a process is started: stdin, stdout and stderr.

#ifndef MALLOCMUZERO_BASE_STANDARD_FILES_H_
#define MALLOCMUZERO_BASE_STANDARD_FILES_H_

namespace mallocmuzero {

// Keeps the numbers of those that the process was started without, as by `2>&-` of a shell. Else a
// file that is opened later gets the number, and lines of the log are written into it. Reads and
// writes fail as before. Call it first in main.
void ReserveStandardFiles();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_STANDARD_FILES_H_
