// Addresses for the intervals of a mapping.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_PACK_MAPPING_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_PACK_MAPPING_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// Buffers that loops carry, each with one buffer that stands for all that must share its address,
// through however many loops.
absl::flat_hash_map<int32_t, int32_t> CarriedBuffers(const v1::Program& program);

// Sets the offset of every interval, whose times are final. False, with the offsets as they were,
// if no packing was found.
bool PackMapping(const v1::Program& program, v1::Mapping& mapping);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_PACK_MAPPING_H_
