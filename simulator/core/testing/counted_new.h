// Counts allocations: of a binary that links this, new and delete are replaced.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_TESTING_COUNTED_NEW_H_
#define MALLOCMUZERO_SIMULATOR_CORE_TESTING_COUNTED_NEW_H_

#include <cstdint>

namespace mallocmuzero::testing {

// Calls of new, of any thread and by any library, since the program began.
uint64_t Allocations();

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_CORE_TESTING_COUNTED_NEW_H_
