// Finds ports for servers in tests.

#ifndef MALLOCMUZERO_RPC_TESTING_FREE_PORT_H_
#define MALLOCMUZERO_RPC_TESTING_FREE_PORT_H_

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero::testing {

// A loopback port that is free at the moment and that no connection takes. Each call returns
// another port. Call from one thread.
inline uint16_t FreePort() {
  // Below the ports that the kernel gives to connections. One of those could be taken before the
  // process for which it is meant listens.
  constexpr uint16_t kFirst = 10240;
  constexpr uint16_t kLast = 32767;
  constexpr int kAttempts = 1000;
  static std::random_device random;
  static std::set<uint16_t> used;
  std::uniform_int_distribution<uint16_t> ports(kFirst, kLast);
  for (int i = 0; i < kAttempts; ++i) {
    const uint16_t port = ports(random);
    if (TcpSocket().Bind(port) && used.insert(port).second) return port;
  }
  ADD_FAILURE() << "no free port";
  return 0;
}

// "127.0.0.1:PORT" with a FreePort.
inline std::string FreeAddress() { return absl::StrCat("127.0.0.1:", FreePort()); }

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_RPC_TESTING_FREE_PORT_H_
