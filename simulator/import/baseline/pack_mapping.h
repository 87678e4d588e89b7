// Finds addresses for the intervals of a mapping.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_PACK_MAPPING_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_PACK_MAPPING_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// For each buffer that a loop carries, the representative of all buffers that must share its
// address, through any number of loops.
absl::flat_hash_map<int32_t, int32_t> CarriedBuffers(const v1::Program& program);

// Sets the offset of every interval; their times must be final. Returns false and leaves the
// offsets unchanged if no packing was found.
bool PackMapping(const v1::Program& program, v1::Mapping& mapping);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_PACK_MAPPING_H_
