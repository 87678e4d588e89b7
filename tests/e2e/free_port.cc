#include "tests/e2e/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace mallocmuzero::e2e {
namespace {

// Below the ports that the kernel gives to connections. One of those could be taken before the
// process for which it is meant listens.
constexpr uint16_t kFirst = 10240;
constexpr uint16_t kLast = 32767;
constexpr int kAttempts = 1000;

bool IsFree(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound =
      bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(socket);
  return bound;
}

}  // namespace

uint16_t FreePort() {
  static std::random_device random;
  static std::set<uint16_t> used;
  std::uniform_int_distribution<uint16_t> ports(kFirst, kLast);
  for (int i = 0; i < kAttempts; ++i) {
    const uint16_t port = ports(random);
    if (IsFree(port) && used.insert(port).second) return port;
  }
  ADD_FAILURE() << "no free port";
  return 0;
}

}  // namespace mallocmuzero::e2e
