// Addresses as the configuration has them.

#ifndef MALLOCMUZERO_CLUSTER_HOST_PORT_H_
#define MALLOCMUZERO_CLUSTER_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  uint32_t port = 0;
};

// "host:port" or "[v6]:port" with a port from 1 to 65535; nothing if `address` is neither.
std::optional<HostPort> ParseHostPort(absl::string_view address);

std::string ToString(const HostPort& address);

// Whether two servers on the same port would be in each other's way, as far as names tell.
bool AreSameHost(const HostPort& a, const HostPort& b);

// Whether the host means every interface of a machine, so that nobody can be sent there.
bool IsWildcard(const HostPort& address);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_HOST_PORT_H_
