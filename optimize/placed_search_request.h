// The inputs of a search for placements.

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

struct PlacedSearchRequest {
  v1::Hardware hardware;
  CompilerChip chip;
  std::string library;   // path of libtpu.so
  std::string topology;  // as the compiler names it
  xla::CompileOptionsProto options;

  // Leave the limit of scoped memory as `options` have it. Otherwise other limits are tried too, if
  // there is `code` to compile, and if instructions and tensors share the chip's fast memory.
  bool keep_scoped_limit = false;

  // An existing folder: every module that the search compiles is kept there.
  std::string folder;

  // The program to compile, and its PJRT format: "mlir" or "hlo".
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
  uint32_t threads = 1;  // of local search; and compiles at a time
  uint64_t seed = 0;

  int stop_fd = -1;            // readable: end with the best so far
  std::function<bool()> stop;  // the same, for solvers
  std::function<void(const v1::PlacedRound&)> progress;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PLACED_SEARCH_REQUEST_H_
