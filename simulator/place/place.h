// Writes a mapping into the compiled module itself. The compiler takes this placed module as it
// stands if its own assignment of memory spaces is switched off.
//
// The module of the compile with everything in HBM is walked in the order in which it runs. Every
// array that the mapping has in fast memory gets that memory space in the instruction that makes
// it. It also gets it wherever it passes: fusions and the computations they call, tuples, bitcasts,
// in-place updates, bodies and conditions of loops, and branches. Copies stand where the mapping
// has them.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::place {

// Reads a serialised HloModuleProto (plain or zstd). InvalidArgument, starting with `path`, if it
// is something else.
absl::StatusOr<xla::HloModuleProto> LoadModule(const std::string& path);

struct PlacedModule {
  xla::HloModuleProto module;
  uint32_t arrays_in_fast_memory = 0;  // that instructions of the program make there
  uint32_t copies_in = 0;
  uint32_t copies_out = 0;

  // Bytes of fast memory that the compiler needs for the module's values (packing.h), and that live
  // at the same time at most.
  int64_t packed_bytes = 0;
  int64_t live_bytes = 0;
};

// `all_hbm` is the module that `program` was imported from; `path` is used in messages. The mapping
// must be valid (simulator/validate). InvalidArgument if the module is another one.
// FailedPrecondition, which names the value or the computation, if a module cannot express the
// mapping. The main cases are:
//   - A copy is in several pieces. With its assignment off the compiler packs each piece for
//     itself, and nothing would join them.
//   - A copy begins and ends in different computations.
//   - A computation runs in two places, so it would need two placements.
absl::StatusOr<PlacedModule> PlaceModule(const Program& program, const Mapping& mapping,
                                         xla::HloModuleProto all_hbm, const std::string& path);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_
