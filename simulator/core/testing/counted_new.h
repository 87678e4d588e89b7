// Counts allocations. Replaces operator new and delete in every binary that links this library.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_TESTING_COUNTED_NEW_H_
#define MALLOCMUZERO_SIMULATOR_CORE_TESTING_COUNTED_NEW_H_

#include <cstdint>

namespace mallocmuzero::testing {

// Number of calls of operator new since the program began, by all threads and libraries.
uint64_t Allocations();

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_CORE_TESTING_COUNTED_NEW_H_
