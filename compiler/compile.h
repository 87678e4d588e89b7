// Compiles modules with the real TPU compiler. The compiler runs in a child process, because it may
// abort, hang, or leave threads behind.

#ifndef MALLOCMUZERO_COMPILER_COMPILE_H_
#define MALLOCMUZERO_COMPILER_COMPILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/compile.pb.h"

namespace mallocmuzero {

// How to run a compile, and when to stop it.
struct CompileControl {
  // Time for all modules together, including the start of the compiler.
  absl::Duration timeout = absl::Minutes(10);

  // Compile stops when this descriptor becomes readable (StopSignal::fd()); -1: never.
  int stop_fd = -1;

  // Program and arguments of the child. With two more arguments, it must call RunCompileChild
  // (compile_child.h).
  std::vector<std::string> child = {"/proc/self/exe", "compile-child"};
};

// Compiles all programs of `request`, one after the other, in one child process. If the compiler
// aborts, another child continues with the next program. The response has one result for each
// program of the request; CompileStatus interprets it. FailedPrecondition or InvalidArgument if the
// library cannot be loaded or does not know the topology; Aborted if the compiler aborts before the
// first program; DeadlineExceeded if the time ends before that, Cancelled if stop_fd becomes
// readable before that. When Compile returns, the child has ended.
absl::StatusOr<v1::CompileResponse> Compile(const v1::CompileRequest& request,
                                            const CompileControl& control);

// The status of one program. OK if it was compiled. ResourceExhausted or Internal, with the first
// lines of the compiler's message, if the compiler refused it; Aborted, with the check that failed,
// if the compiler aborted; DeadlineExceeded if the time ended, Cancelled if stop_fd became
// readable.
absl::Status CompileStatus(const v1::CompiledProgram& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILE_H_
