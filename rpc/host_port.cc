#include "rpc/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace mallocmuzero {
namespace {

bool ReadV6(const std::string& host, in6_addr& address) {
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

// Whether `host` has the characters of a name or an IPv4 address.
bool IsPlainHost(absl::string_view host) {
  if (host.empty()) return false;
  for (const char c : host) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_') return false;
  }
  return true;
}

absl::string_view Canonical(absl::string_view host) {
  return host == "localhost" ? absl::string_view("127.0.0.1") : host;
}

}  // namespace

std::optional<HostPort> ParseHostPort(absl::string_view address, uint32_t least_port) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  absl::string_view host = address.substr(0, colon);
  const absl::string_view port = address.substr(colon + 1);
  const bool bracketed = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (bracketed) host = absl::StripSuffix(absl::StripPrefix(host, "["), "]");
  HostPort parsed = {.host = std::string(host)};
  in6_addr ignored = {};
  if (bracketed ? !ReadV6(parsed.host, ignored) : !IsPlainHost(host)) return std::nullopt;
  // The first character must be a digit, because SimpleAtoi also accepts signs and spaces.
  if (port.empty() || !absl::ascii_isdigit(port[0]) || !absl::SimpleAtoi(port, &parsed.port) ||
      parsed.port < least_port || parsed.port > 65535) {
    return std::nullopt;
  }
  return parsed;
}

std::string ToString(const HostPort& address) {
  if (absl::StrContains(address.host, ':')) {
    return absl::StrCat("[", address.host, "]:", address.port);
  }
  return absl::StrCat(address.host, ":", address.port);
}

bool IsLoopback(const HostPort& address) {
  in_addr v4 = {};
  in6_addr v6 = {};
  if (address.host == "localhost") return true;
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return ReadV6(address.host, v6) && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsWildcard(const HostPort& address) {
  return address.host == "0.0.0.0" || address.host == "::";
}

bool AreSameHost(const HostPort& a, const HostPort& b) {
  return Canonical(a.host) == Canonical(b.host) || IsWildcard(a) || IsWildcard(b);
}

}  // namespace mallocmuzero
