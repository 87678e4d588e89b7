// Addresses of servers, "host:port", as flags and the configuration have them.

#ifndef MALLOCMUZERO_RPC_HOST_PORT_H_
#define MALLOCMUZERO_RPC_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  uint32_t port = 0;
};

// "host:port" or "[v6]:port" with a port from `least_port` to 65535; nothing if `address` is
// neither. Port 0 is for servers that take any free port.
std::optional<HostPort> ParseHostPort(absl::string_view address, uint32_t least_port = 1);

std::string ToString(const HostPort& address);

// Whether the host is this machine as only this machine can reach it: localhost, 127.0.0.0/8 or
// ::1. Names are not looked up: any other one is not.
bool IsLoopback(const HostPort& address);

// Whether the host means every interface of a machine, so that nobody can be sent there.
bool IsWildcard(const HostPort& address);

// Whether two servers on the same port would be in each other's way, as far as names tell.
bool AreSameHost(const HostPort& a, const HostPort& b);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_HOST_PORT_H_
