// A program as it would be on a chip with another size of fast memory.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_FAST_MEMORY_SHARE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_FAST_MEMORY_SHARE_H_

#include "absl/status/statusor.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The program with fast memory of `share` times its size, rounded down to the alignment. Everything
// else stays, latencies included. The chip's name states the share ("tpu_v4i_25pct"). The new
// program has no baseline, since the compiler has not compiled for such a chip; a share of 1
// returns the program itself, unchanged. InvalidArgument if the share is not positive and finite,
// or if the new size is less than one alignment or more than Program::FromProto allows.
absl::StatusOr<Program> WithFastMemoryShare(const Program& program, double share);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_FAST_MEMORY_SHARE_H_
