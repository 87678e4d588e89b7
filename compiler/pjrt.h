// The TPU compiler in this process, through PJRT's C API.

#ifndef MALLOCMUZERO_COMPILER_PJRT_H_
#define MALLOCMUZERO_COMPILER_PJRT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/compile.pb.h"

namespace mallocmuzero {

// May end the process: the compiler checks what it believes in by aborting. Compile, of compile.h,
// has it in a child. Not thread-safe.
class PjrtCompiler {
 public:
  // Loads the plugin of the path `library`, for good, and makes it ready to compile for `topology`.
  // FailedPrecondition if it is no PJRT plugin or of a version that cannot be used, with both
  // versions; InvalidArgument if it does not know the topology.
  static absl::StatusOr<std::unique_ptr<PjrtCompiler>> Load(const std::string& library,
                                                            const std::string& topology);
  ~PjrtCompiler();
  PjrtCompiler(const PjrtCompiler&) = delete;
  PjrtCompiler& operator=(const PjrtCompiler&) = delete;

  // start_seconds is not set.
  const v1::CompilerInfo& info() const { return info_; }

  // error_code is ResourceExhausted if the compiler says so (a module does not fit into its
  // memories), else Internal.
  v1::CompiledProgram Compile(const v1::CompileProgram& program) const;

 private:
  struct Impl;

  explicit PjrtCompiler(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
  v1::CompilerInfo info_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_PJRT_H_
