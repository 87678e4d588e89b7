// The child process that has the compiler in it.

#ifndef MALLOCMUZERO_COMPILER_COMPILE_CHILD_H_
#define MALLOCMUZERO_COMPILER_COMPILE_CHILD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/compile.pb.h"

namespace mallocmuzero {

// Reads a v1::CompileRequest from the file at `request` and appends records to the file at
// `response`. The first record has `compiler` once the library can compile, or an error. One record
// for each program follows. Ends the process without destructors, because a library that has
// threads may never let them run.
[[noreturn]] void RunCompileChild(const std::string& request, const std::string& response);

// A CompileResponse as it stands in such a file: its length in eight bytes, then its bytes.
std::string CompileRecord(const v1::CompileResponse& response);

// All records of `bytes` as one response; one that is cut short at the end is left out.
v1::CompileResponse JoinCompileRecords(absl::string_view bytes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILE_CHILD_H_
