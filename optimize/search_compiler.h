// The compiler for one search: one library, one topology, one set of options.

#ifndef MALLOCMUZERO_OPTIMIZE_SEARCH_COMPILER_H_
#define MALLOCMUZERO_OPTIMIZE_SEARCH_COMPILER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/compile.pb.h"
#include "mallocmuzero/xla/compile_options.pb.h"
#include "optimize/placed_search_request.h"

namespace mallocmuzero {

// True if `options`, or LIBTPU_INIT_ARGS in the environment, set the limit of scoped memory.
bool SetsScopedLimit(const xla::CompileOptionsProto& options);

// Runs the compiles of one search. Not thread-safe.
class SearchCompiler {
 public:
  struct Job {
    std::string code;
    std::string format;              // in PJRT's names: "mlir" or "hlo"
    bool assigns_memory = false;     // true if the compiler chooses memory spaces itself
    int64_t scoped_limit_bytes = 0;  // 0: the limit of the request's options
  };

  // `request` must outlive the compiler.
  explicit SearchCompiler(const PlacedSearchRequest& request) : request_(request) {}

  // Compiles all jobs, each in a child process, as many in parallel as the request has threads.
  // Blocks until all are done. If the compiler refuses a job, the answer says so: see
  // CompileStatus. A compiler that does not start is an error of the first call, and an answer of
  // later ones.
  absl::StatusOr<std::vector<v1::CompiledProgram>> CompileAll(std::vector<Job> jobs);

  // The longest time that a compile has taken so far.
  absl::Duration slowest() const { return slowest_; }

  // The library's own description of its version; empty before the first compile.
  const std::string& version() const { return version_; }

 private:
  absl::StatusOr<v1::CompileResponse> CompileOne(Job job) const;

  const PlacedSearchRequest& request_;
  absl::Duration slowest_;
  std::string version_;
  bool has_compiled_ = false;  // the compiler has started in an earlier call
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_SEARCH_COMPILER_H_
