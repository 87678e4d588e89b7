// The loop of `optimize`: place a mapping, have it compiled, learn from the compile, search again.
//
//   compile with everything in HBM, and by default
//        |
//        v
//   import --> local search --> place --> check --> compile --> the best so far
//     ^                                                |
//     +---- estimates of every compiled module --------+

#ifndef MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_
#define MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compiler/chip.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/optimize.pb.h"
#include "mallocmuzero/xla/compile_options.pb.h"

namespace mallocmuzero {

struct PlacedSearchRequest {
  v1::Hardware hardware;
  CompilerChip chip;
  std::string library;   // path of libtpu.so
  std::string topology;  // as the compiler names it
  xla::CompileOptionsProto options;

  // An existing folder: every module that the search compiles is kept there.
  std::string folder;

  // What to compile, and its PJRT format: "mlir" or "hlo".
  std::string code;
  std::string format;

  // Instead of `code`: what the compiler made of it with everything in HBM, as a serialised
  // HloModuleProto, and by default, as such or as text.
  std::string all_hbm_path;
  std::string default_path;

  // More compiles of the program under placements of the compiler's own, for the latency table.
  std::vector<std::string> sample_paths;

  std::string program_name;  // empty: the name of the module

  absl::Time deadline;
  absl::Duration solve_time;  // of local search in each round
  uint32_t most_rounds = 0;
  uint32_t threads = 1;
  uint64_t seed = 0;

  int stop_fd = -1;            // readable: end with the best so far
  std::function<bool()> stop;  // the same, for solvers
  std::function<void(const v1::PlacedRound&)> progress;
};

struct PlacedSearchResult {
  v1::OptimizeReport report;

  // Of the best round, or of the default if no round was better: the compiled module and the
  // executable, as the compiler serialises them.
  std::string module;
  std::string executable;
};

// Searches until the deadline, the number of rounds or `stop`. Never worse than the default: that
// is the answer if nothing is better by the compiler's own estimates. A round whose module the
// compiler refuses is reported, and the search goes on with less fast memory. If the compiler
// refuses the program by default, as it does with some that need too much scoped memory, there is
// no default to compare with. Other errors are returned.
absl::StatusOr<PlacedSearchResult> SearchPlacements(const PlacedSearchRequest& request);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_H_
