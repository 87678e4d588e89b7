#include "tests/e2e/free_port.h"

#include "rpc/testing/free_port.h"

namespace mallocmuzero::e2e {

uint16_t FreePort() { return mallocmuzero::testing::FreePort(); }

}  // namespace mallocmuzero::e2e
