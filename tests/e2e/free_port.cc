#include "tests/e2e/free_port.h"

#include <random>
#include <set>

#include "gtest/gtest.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero::e2e {
namespace {

// Below the ports that the kernel gives to connections. One of those could be taken before the
// process for which it is meant listens.
constexpr uint16_t kFirst = 10240;
constexpr uint16_t kLast = 32767;
constexpr int kAttempts = 1000;

}  // namespace

uint16_t FreePort() {
  static std::random_device random;
  static std::set<uint16_t> used;
  std::uniform_int_distribution<uint16_t> ports(kFirst, kLast);
  for (int i = 0; i < kAttempts; ++i) {
    const uint16_t port = ports(random);
    if (mallocmuzero::testing::TcpSocket().Bind(port) && used.insert(port).second) return port;
  }
  ADD_FAILURE() << "no free port";
  return 0;
}

}  // namespace mallocmuzero::e2e
