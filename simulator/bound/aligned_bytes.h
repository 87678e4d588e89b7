// Bytes that buffers take in fast memory, and bytes that fast memory has for them.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_ALIGNED_BYTES_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_ALIGNED_BYTES_H_

#include "mallocmuzero/v1/hardware.pb.h"
#include "simulator/core/hardware.h"
#include "simulator/core/program_types.h"

namespace mallocmuzero::bound {

// The bytes up to the next address at which another buffer may begin.
inline double AlignedBytes(const v1::Hardware& hardware, const Buffer& buffer) {
  return static_cast<double>(RoundUp(buffer.bytes, hardware.fast_memory_alignment_bytes()));
}

// The aligned bytes of buffers that are in fast memory at the same time do not exceed this. The
// last buffer may end at the end of the memory, so the capacity is rounded up.
inline double AlignedCapacity(const v1::Hardware& hardware) {
  return static_cast<double>(
      RoundUp(hardware.fast_memory_bytes(), hardware.fast_memory_alignment_bytes()));
}

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_ALIGNED_BYTES_H_
