// A program as it would be on a chip with another size of fast memory.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_VARIANT_H_
#define MALLOCMUZERO_SIMULATOR_CORE_VARIANT_H_

#include "absl/status/statusor.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The program with fast memory of `share` times its size, rounded down to its alignment; everything
// else, the latencies too, stays. The chip's name says so ("tpu_v4i_25pct"). There is no baseline:
// the compiler has not been asked. Share 1 is the program itself. InvalidArgument if the share is
// not positive and finite, or if less is left than one alignment or than an instruction needs for
// itself.
absl::StatusOr<Program> WithFastMemory(const Program& program, double share);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_VARIANT_H_
