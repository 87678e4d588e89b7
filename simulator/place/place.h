// A mapping written into the compiled module itself: a placed module, which the compiler takes as
// it stands, with its assignment of memory spaces switched off.
//
// The module of the compile with everything in HBM is walked in the order in which it runs. Every
// array that the mapping has in fast memory gets that memory space, in the instruction that makes
// it and wherever it passes: fusions and the computations they call, tuples, bitcasts, in-place
// updates, loops' bodies and conditions, branches. Copies stand where the mapping has them.

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
};

// `all_hbm` is the module that `program` was imported from; `path` is used in messages. The
// mapping must be valid (simulator/validate). InvalidArgument if the module is another one;
// FailedPrecondition that names the value if a module cannot say what the mapping asks for:
//   - a copy in several pieces: with its assignment off the compiler packs each piece for itself,
//     and nothing would join them;
//   - a copy that begins and ends in different computations;
//   - a value in fast memory in a computation that runs in two places.
absl::StatusOr<PlacedModule> PlaceModule(const Program& program, const Mapping& mapping,
                                         xla::HloModuleProto all_hbm, const std::string& path);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_
