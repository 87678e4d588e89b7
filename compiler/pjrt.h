// Runs the TPU compiler in this process, through PJRT's C API.

#ifndef MALLOCMUZERO_COMPILER_PJRT_H_
#define MALLOCMUZERO_COMPILER_PJRT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/compile.pb.h"

namespace mallocmuzero {

// The compiler in this process. It may end the process, because the compiler aborts when one of its
// checks fails; Compile in compile.h runs it in a child instead. Not thread-safe.
class PjrtCompiler {
 public:
  // Loads the plugin at the path `library` and prepares it to compile for `topology`. The plugin is
  // never unloaded. FailedPrecondition if it is no PJRT plugin, or, with both versions, if its
  // version is not supported; InvalidArgument if it does not know the topology.
  static absl::StatusOr<std::unique_ptr<PjrtCompiler>> Load(const std::string& library,
                                                            const std::string& topology);
  ~PjrtCompiler();
  PjrtCompiler(const PjrtCompiler&) = delete;
  PjrtCompiler& operator=(const PjrtCompiler&) = delete;

  // All fields except start_seconds are set.
  const v1::CompilerInfo& info() const { return info_; }

  // Compiles one program. error_code is ResourceExhausted if the compiler reports that a module
  // does not fit into memory, and Internal for all other errors.
  v1::CompiledProgram Compile(const v1::CompileProgram& program) const;

 private:
  struct Impl;

  explicit PjrtCompiler(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
  v1::CompilerInfo info_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_PJRT_H_
