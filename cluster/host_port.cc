#include "cluster/host_port.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace mallocmuzero {
namespace {

bool IsHost(absl::string_view host, bool bracketed) {
  if (host.empty()) return false;
  for (const char c : host) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_' && !(bracketed && c == ':')) {
      return false;
    }
  }
  return true;
}

absl::string_view Canonical(absl::string_view host) {
  return host == "localhost" ? absl::string_view("127.0.0.1") : host;
}

}  // namespace

std::optional<HostPort> ParseHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return std::nullopt;
  absl::string_view host = address.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  HostPort parsed;
  const absl::string_view port = address.substr(colon + 1);
  if (!IsHost(host, bracketed) || port.empty() || !absl::ascii_isdigit(port[0]) ||
      !absl::SimpleAtoi(port, &parsed.port) || parsed.port < 1 || parsed.port > 65535) {
    return std::nullopt;
  }
  parsed.host = std::string(host);
  return parsed;
}

std::string ToString(const HostPort& address) {
  if (absl::StrContains(address.host, ':')) {
    return absl::StrCat("[", address.host, "]:", address.port);
  }
  return absl::StrCat(address.host, ":", address.port);
}

bool AreSameHost(const HostPort& a, const HostPort& b) {
  return Canonical(a.host) == Canonical(b.host) || IsWildcard(a) || IsWildcard(b);
}

bool IsWildcard(const HostPort& address) {
  return address.host == "0.0.0.0" || address.host == "::";
}

}  // namespace mallocmuzero
