// How many files and sockets the process may have open.

#ifndef MALLOCMUZERO_BASE_OPEN_FILE_LIMIT_H_
#define MALLOCMUZERO_BASE_OPEN_FILE_LIMIT_H_

namespace mallocmuzero {

// Raises the soft limit to the hard one, or to a million if that is higher. A server has a socket
// for each client, and Linux's usual soft limit of 1,024 is for programs that call select(2).
void RaiseOpenFileLimit();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_OPEN_FILE_LIMIT_H_
