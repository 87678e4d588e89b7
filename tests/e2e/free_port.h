// Ports for servers of tests.

#ifndef MALLOCMUZERO_TESTS_E2E_FREE_PORT_H_
#define MALLOCMUZERO_TESTS_E2E_FREE_PORT_H_

#include <cstdint>

namespace mallocmuzero::e2e {

// A port of the loopback that nobody listens on now. Different ones while the kernel has others.
uint16_t FreePort();

}  // namespace mallocmuzero::e2e

#endif  // MALLOCMUZERO_TESTS_E2E_FREE_PORT_H_
