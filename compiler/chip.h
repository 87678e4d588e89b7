// How the compiler calls the chips.

#ifndef MALLOCMUZERO_COMPILER_CHIP_H_
#define MALLOCMUZERO_COMPILER_CHIP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

struct CompilerChip {
  const char* name;      // as in hardware/: "tpu_v6e"
  const char* topology;  // what the compiler compiles for unless told otherwise: "v6e:1x1"

  // The compiler option that, set to false, leaves every tensor in the memory space that its layout
  // names.
  const char* assignment_option;

  // Fast memory that the compiler's own assignment sets aside for what instructions take for
  // themselves, bytes: its default limit of scoped memory where that comes out of the same VMEM. A
  // placed module has what instructions leave of it.
  int64_t scoped_reserve_bytes;
};

// The chip of that name; NotFound, with the names there are, if there is none. It is no part of
// Hardware, which programs hold and prices depend on.
absl::StatusOr<CompilerChip> FindCompilerChip(absl::string_view name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_CHIP_H_
