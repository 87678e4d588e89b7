// The inputs of SearchPlacements.

#ifndef MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_REQUEST_H_
#define MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_REQUEST_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "compiler/chip.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/optimize.pb.h"
#include "mallocmuzero/xla/compile_options.pb.h"

namespace mallocmuzero {

// A program to optimize, the compiler for it, and limits of the search.
struct PlacedSearchRequest {
  v1::Hardware hardware;
  CompilerChip chip;
  std::string library;   // path of libtpu.so
  std::string topology;  // in the compiler's terms, such as "v6e:1x1"
  xla::CompileOptionsProto options;

  // If true, the limit of scoped memory is that of `options`. If false, other limits are tried too,
  // provided that there is `code` to compile, and that instructions and tensors share the chip's
  // fast memory.
  bool keep_scoped_limit = false;

  // An existing folder, into which the search writes every module that it compiles.
  std::string folder;

  // The program to compile, and its PJRT format: "mlir" or "hlo".
  std::string code;
  std::string format;

  // Inputs instead of `code`: the compile with everything in HBM, as a serialised HloModuleProto,
  // and the compile by default, as such a message or as text.
  std::string all_hbm_path;
  std::string default_path;

  // Further compiles of the program, under placements that the compiler chose, for the latency
  // table. They have the limit of scoped memory of `options`.
  std::vector<std::string> sample_paths;

  // Modules that an earlier search under the same limit of scoped memory placed and compiled. They
  // are samples, too, and their estimates come before those of other compiles. They go with
  // `all_hbm_path`.
  std::vector<std::string> placed_paths;

  absl::Time deadline;        // by SteadyNow
  absl::Duration solve_time;  // time of local search in each round

  // The time that a compile of the program takes; 0 if it is not known. It shows whether there is
  // time for samples before the search has compiled anything.
  absl::Duration compile_time;

  uint32_t most_rounds = 0;
  uint32_t threads = 1;  // of local search, and number of compiles in parallel
  uint64_t seed = 0;

  int stop_fd = -1;  // when it becomes readable, the search ends with the best result so far
  std::function<bool()> stop;  // the same, for solvers
  std::function<void(const v1::PlacedRound&)> progress;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_REQUEST_H_
