// The compiler as a search uses it: one library, one topology, one set of options.

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

// Whether `options`, or LIBTPU_INIT_ARGS in the environment, set the limit of scoped memory.
bool SetsScopedLimit(const xla::CompileOptionsProto& options);

class SearchCompiler {
 public:
  struct Job {
    std::string code;
    std::string format;              // of PJRT: "mlir" or "hlo"
    bool assigns_memory = false;     // whether the compiler chooses memory spaces itself
    int64_t scoped_limit_bytes = 0;  // 0: as the options of the request have it
  };

  // `request` must live as long as the compiler.
  explicit SearchCompiler(const PlacedSearchRequest& request) : request_(request) {}

  // Compiles all jobs, as many at a time as the request has threads, each in a child of its own.
  // Blocks until all are done. A job that the compiler refuses is in the answer: see CompileStatus.
  absl::StatusOr<std::vector<v1::CompiledProgram>> CompileAll(std::vector<Job> jobs);

  // The longest that a compile has taken so far.
  absl::Duration slowest() const { return slowest_; }

  // The library's own description of its version; empty before the first compile.
  const std::string& version() const { return version_; }

 private:
  absl::StatusOr<v1::CompileResponse> CompileOne(Job job) const;

  const PlacedSearchRequest& request_;
  absl::Duration slowest_;
  std::string version_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_SEARCH_COMPILER_H_
