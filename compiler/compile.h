// Compiles modules with the real TPU compiler, in a child process: the compiler may abort, hang, or
// leave threads behind.

#ifndef MALLOCMUZERO_COMPILER_COMPILE_H_
#define MALLOCMUZERO_COMPILER_COMPILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/compile.pb.h"

namespace mallocmuzero {

struct CompileControl {
  // For all modules together, the start of the compiler included.
  absl::Duration timeout = absl::Minutes(10);

  // Ends everything once it is readable, as StopSignal::fd() is; -1: nothing does.
  int stop_fd = -1;

  // Program and arguments that call RunCompileChild (compile_child.h) with two more arguments.
  std::vector<std::string> child = {"/proc/self/exe", "compile-child"};
};

// Compiles all programs of `request`, one after the other, in one child, and another one wherever
// the compiler aborts. The response has as many programs as the request: see CompileStatus.
// FailedPrecondition or InvalidArgument if the library cannot be loaded, or does not know the
// topology; Aborted if it aborts before the first program; DeadlineExceeded and Cancelled if time
// is up or stop_fd readable before then. The child is gone when it returns.
absl::StatusOr<v1::CompileResponse> Compile(const v1::CompileRequest& request,
                                            const CompileControl& control);

// OK if it was compiled. ResourceExhausted or Internal with the compiler's message, shortened to
// its first lines, if the compiler refuses it; Aborted, with the check that failed, if the compiler
// aborts; DeadlineExceeded if time was up, Cancelled if stop_fd was readable.
absl::Status CompileStatus(const v1::CompiledProgram& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILE_H_
