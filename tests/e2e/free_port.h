// Finds ports for servers in tests.

#ifndef MALLOCMUZERO_TESTS_E2E_FREE_PORT_H_
#define MALLOCMUZERO_TESTS_E2E_FREE_PORT_H_

#include <cstdint>

namespace mallocmuzero::e2e {

// A loopback port that is free at the moment and that no connection takes. Each call returns
// another port, also in other tests that run at the same time. Call from one thread.
uint16_t FreePort();

}  // namespace mallocmuzero::e2e

#endif  // MALLOCMUZERO_TESTS_E2E_FREE_PORT_H_
