// Finds the compiler's library on this machine.

#ifndef MALLOCMUZERO_COMPILER_FIND_LIBRARY_H_
#define MALLOCMUZERO_COMPILER_FIND_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// Path of libtpu.so: `given` unless it is empty, else the value of TPU_LIBRARY_PATH, else the
// library in the Python package libtpu that `python3` finds. NotFound, with a hint how to install
// it, if there is none.
absl::StatusOr<std::string> FindCompilerLibrary(const std::string& given);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_FIND_LIBRARY_H_
