// Random programs small enough to play all their games.

#ifndef MALLOCMUZERO_ENV_TESTING_TINY_PROGRAM_H_
#define MALLOCMUZERO_ENV_TESTING_TINY_PROGRAM_H_

#include <cstdint>
#include <random>

#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// Four to seven instructions with at most `max_accesses` accesses in all, over a fast memory that
// holds two or three of the buffers; some have a loop that reads values made before it.
Program TinyProgram(std::mt19937_64& random, uint32_t max_accesses);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_TINY_PROGRAM_H_
