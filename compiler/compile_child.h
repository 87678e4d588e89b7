// The child process that contains the compiler.

#ifndef MALLOCMUZERO_COMPILER_COMPILE_CHILD_H_
#define MALLOCMUZERO_COMPILER_COMPILE_CHILD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/compile.pb.h"

namespace mallocmuzero {

// Reads a v1::CompileRequest from the file at `request` and appends records to the file at
// `response`. The first record has `compiler` if the library can compile, or else an error. Then
// one record for each program follows. Ends the process without destructors, because a library with
// threads might block them for ever.
[[noreturn]] void RunCompileChild(const std::string& request, const std::string& response);

// A record: the length of the serialised response in eight bytes, then the response.
std::string CompileRecord(const v1::CompileResponse& response);

// All records in `bytes`, merged into one response. A record that is cut short at the end is
// ignored.
v1::CompileResponse JoinCompileRecords(absl::string_view bytes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILE_CHILD_H_
