// Several small programs.

#ifndef MALLOCMUZERO_ENV_TESTING_RANDOM_PROGRAM_SET_H_
#define MALLOCMUZERO_ENV_TESTING_RANDOM_PROGRAM_SET_H_

#include <cstddef>
#include <cstdint>

#include "env/program_set.h"

namespace mallocmuzero::testing {

// Random game programs of 9 to 39 decisions called program_0, program_1, ...
ProgramSet RandomProgramSet(uint64_t seed, size_t count);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_RANDOM_PROGRAM_SET_H_
