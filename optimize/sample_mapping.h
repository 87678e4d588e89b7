// Makes random placements for the latency table. Local search only knows the placements that some
// compile had.

#ifndef MALLOCMUZERO_OPTIMIZE_SAMPLE_MAPPING_H_
#define MALLOCMUZERO_OPTIMIZE_SAMPLE_MAPPING_H_

#include <cstdint>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A mapping with a random part of the buffers in HBM, and as many of the others in fast memory as
// fit. It leaves some fast memory free, so that the compiler can pack it, unless fast memory is
// hardly larger than its alignment. Different seeds give different mappings.
Mapping SampleMapping(const Program& program, uint64_t seed);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_SAMPLE_MAPPING_H_
