// Writes a mapping into the compiled module. If the compiler's own memory-space assignment is
// switched off, it compiles this placed module as it is.
//
// PlaceModule walks the module that was compiled with everything in HBM, in the order in which it
// runs. Every array that the mapping has in fast memory gets the memory space of fast memory in the
// instruction that makes it, and in everything that it passes through: fusions and the computations
// that they call, tuples, bitcasts, in-place updates, bodies and conditions of loops, and branches.
// Copies are inserted at the positions that the mapping gives.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::place {

// Reads a serialised HloModuleProto (plain or zstd). InvalidArgument, starting with `path`, if the
// file contains something else.
absl::StatusOr<xla::HloModuleProto> LoadModule(const std::string& path);

// Result of PlaceModule.
struct PlacedModule {
  xla::HloModuleProto module;
  uint32_t arrays_in_fast_memory = 0;  // made by instructions of the program
  uint32_t copies_in = 0;              // without a cross-program prefetch
  uint32_t copies_out = 0;

  // Bytes of fast memory that the compiler needs for the module's values (packing.h), and the most
  // bytes of values that live at the same time.
  int64_t packed_bytes = 0;
  int64_t live_bytes = 0;
};

// Writes `mapping` into `all_hbm`, the module that `program` was imported from. `path` is used in
// messages. The mapping must be valid (simulator/validate).
//
// InvalidArgument if the program was imported from another module. FailedPrecondition, with the
// value or the computation in the message, if a module cannot express the mapping. The main cases
// are:
//   - A copy has several pieces. With its assignment off, the compiler packs each piece separately,
//     and nothing would join them.
//   - A copy begins and ends in different computations.
//   - A computation runs in two places, so that it would need two placements.
//   - A computation is called by the opcode `call`.
//   - Copies of computations that fusions share would have too many instructions.
//   - An instruction states the shapes of more operands than it has, so the module is damaged.
absl::StatusOr<PlacedModule> PlaceModule(const Program& program, const Mapping& mapping,
                                         xla::HloModuleProto all_hbm, const std::string& path);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PLACE_H_
