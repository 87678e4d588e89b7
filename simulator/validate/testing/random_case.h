// Random programs with mappings that are valid by construction. Shares no code with Validate.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_TESTING_RANDOM_CASE_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_TESTING_RANDOM_CASE_H_

#include <cstdint>
#include <random>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// About 10 to 60 instructions: chains of reads, writes and in-place updates, loops up to two deep
// with a carried group each, live-ins and live-outs. A buffer's only write is its
// first access; a group's parameter is dead before its root is written.
Program RandomProgram(std::mt19937_64& random);

// Keeps buffers in fast memory for all their life, for windows between copies, or not at all, at
// the first offset that is free; groups at one offset, or in HBM with windows. Every copy in is
// needed by the next access, every write-back by a later one, a loop or a live-out.
Mapping RandomValidMapping(const Program& program, std::mt19937_64& random);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_TESTING_RANDOM_CASE_H_
