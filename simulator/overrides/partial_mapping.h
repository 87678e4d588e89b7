// Mappings between the compiler's default and a wanted mapping.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_PARTIAL_MAPPING_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_PARTIAL_MAPPING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// `from` with some accesses of one buffer where `wanted` has them, for pricing: its addresses mean
// nothing. Copies come and go with the accesses:
//   - An interval of `wanted` comes with its copies if it serves one of the accesses, or if it
//     serves an access of the same interval of `from` that stays in fast memory in both mappings.
//   - An interval of `from` goes with its copies if these intervals serve all accesses that it
//     served and that are still in fast memory.
Mapping WithAccessesAsWanted(const Program& program, const Mapping& from, const Mapping& wanted,
                             absl::Span<const AccessIndex> accesses);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_PARTIAL_MAPPING_H_
