// The compiler's names and settings for each chip.

#ifndef MALLOCMUZERO_COMPILER_CHIP_H_
#define MALLOCMUZERO_COMPILER_CHIP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// A chip as the compiler knows it.
struct CompilerChip {
  const char* name;      // as in hardware/: "tpu_v6e"
  const char* topology;  // the default topology to compile for: "v6e:1x1"

  // Its names at the begin of a topology. They are the same if the compiler has one name.
  const char* topology_name;        // "v6e"
  const char* other_topology_name;  // "v6 lite"

  // A compiler option. If it is false, every tensor stays in the memory space that its layout
  // names.
  const char* assignment_option;

  // Bytes of fast memory that the compiler's own assignment reserves for instructions: the default
  // limit of scoped memory, if scoped memory is in the same VMEM as tensors. In a placed module,
  // tensors may also use the part of it that instructions do not take.
  int64_t scoped_reserve_bytes;
};

// The chip of that name. NotFound, with all known names, if there is none. Separate from Hardware,
// which is stored in programs and determines prices.
absl::StatusOr<CompilerChip> FindCompilerChip(absl::string_view name);

// InvalidArgument, with the name of the other chip, if `topology` is one of another chip: "v5e:2x2"
// for tpu_v6e. Names that no chip has are left to the compiler.
absl::Status CheckTopologyIsOf(const CompilerChip& chip, absl::string_view topology);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_CHIP_H_
