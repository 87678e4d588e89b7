// Where the compiler is on this machine.

#ifndef MALLOCMUZERO_COMPILER_FIND_LIBRARY_H_
#define MALLOCMUZERO_COMPILER_FIND_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// Path of libtpu.so: `given` unless it is empty, else what TPU_LIBRARY_PATH names, else that of the
// Python package libtpu that `python3` finds. NotFound, with how to get one, if there is none.
absl::StatusOr<std::string> FindCompilerLibrary(const std::string& given);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_FIND_LIBRARY_H_
