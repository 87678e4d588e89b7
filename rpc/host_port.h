// Server addresses of the form "host:port", as flags and configuration files give them.

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

// Parses "host:port" or "[IPv6 address]:port" with a port from `least_port` to 65535. Returns
// nullopt if `address` is neither. Pass 0 as `least_port` where port 0 may ask for any free port.
std::optional<HostPort> ParseHostPort(absl::string_view address, uint32_t least_port = 1);

// Returns "host:port", with brackets around an IPv6 address.
std::string ToString(const HostPort& address);

// Whether only this machine can reach the host: localhost, 127.0.0.0/8 or ::1. Does not look names
// up, so every name but localhost gives false.
bool IsLoopback(const HostPort& address);

// Whether the host is 0.0.0.0 or ::, which listen on every interface. Clients cannot connect to
// such an address.
bool IsWildcard(const HostPort& address);

// Whether two servers that listen on these hosts and the same port would conflict, judged by the
// names alone. The ports are not compared.
bool AreSameHost(const HostPort& a, const HostPort& b);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_HOST_PORT_H_
