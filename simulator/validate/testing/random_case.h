// Random programs with mappings that are valid by construction. Shares no code with Validate.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_TESTING_RANDOM_CASE_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_TESTING_RANDOM_CASE_H_

#include <cstdint>
#include <random>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// A program of about 10 to 60 instructions: chains of reads, writes and in-place updates, loops up
// to two deep with one carried group each, live-in and live-out buffers. The only write of a buffer
// is its first access. A group's parameter is not used any more when its root is written.
Program RandomProgram(std::mt19937_64& random);

// A valid mapping. Each buffer is in fast memory for all its life, for some windows between copies,
// or never, at the first offset that is free. A carried group is either at one offset, or in HBM
// with windows. Every copy in is needed by the next access, and every write-back by a later access,
// a loop or the end of the program.
Mapping RandomValidMapping(const Program& program, std::mt19937_64& random);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_TESTING_RANDOM_CASE_H_
