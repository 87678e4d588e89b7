// Finds ports for servers in tests.

#ifndef MALLOCMUZERO_RPC_TESTING_FREE_PORT_H_
#define MALLOCMUZERO_RPC_TESTING_FREE_PORT_H_

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero::testing {

// Returns false if this process or another one has reserved the port. A reservation is the name of
// a Unix socket without a file. The kernel frees the name when this process ends.
// tests/faults/loopback_cluster.py makes the same names.
inline bool Reserve(uint16_t port) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The first byte of the path is zero: there is no file.
  const std::string name = absl::StrCat("mallocmuzero-test-port-", port);
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  const socklen_t size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return true;
  close(fd);
  return false;
}

// A loopback port that is free at the moment and that no connection takes. Each call returns
// another port, also in other tests that run at the same time. Call from one thread.
inline uint16_t FreePort() {
  // Below the ports that the kernel gives to connections. One of those could be taken before the
  // process for which it is meant listens.
  constexpr uint16_t kFirst = 10240;
  constexpr uint16_t kLast = 32767;
  constexpr int kAttempts = 1000;
  static std::random_device random;
  std::uniform_int_distribution<uint16_t> ports(kFirst, kLast);
  for (int i = 0; i < kAttempts; ++i) {
    const uint16_t port = ports(random);
    if (Reserve(port) && TcpSocket().Bind(port)) return port;
  }
  ADD_FAILURE() << "no free port";
  return 0;
}

// "127.0.0.1:PORT" with a FreePort.
inline std::string FreeAddress() { return absl::StrCat("127.0.0.1:", FreePort()); }

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_RPC_TESTING_FREE_PORT_H_
