#include "cluster/address_checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace mallocmuzero {
namespace {

// Returns nullopt and complains if the field is not host:port.
std::optional<HostPort> ReadAddress(const std::string& field, const std::string& address,
                                    const ConfigSection& section) {
  const std::optional<HostPort> parsed = ParseHostPort(address);
  if (!parsed.has_value()) {
    section.Complain(field, absl::StrCat("'", address,
                                         "': host:port with a port from 1 to 65535 expected, such "
                                         "as 127.0.0.1:7410"));
  }
  return parsed;
}

// A wildcard stands for the addresses of one machine only, so it becomes that machine's address:
// otherwise shards on other machines could not use the same metrics port.
void TakeHostOf(const std::string& machine, HostPort& address) {
  const std::optional<HostPort> there = ParseHostPort(machine);
  if (IsWildcard(address) && there.has_value()) address.host = there->host;
}

}  // namespace

void AddressChecks::SetSecurity(std::shared_ptr<const Security> security) {
  security_ = std::move(security);
}

void AddressChecks::CheckSecured(const std::string& field, const std::string& address,
                                 const ConfigSection& section) const {
  if (security_ == nullptr) return;
  const absl::Status status = security_->CheckListenAddress(address);
  if (!status.ok()) section.Complain(field, std::string(status.message()));
}

void AddressChecks::CheckListen(const std::string& address, const std::string& listen_address,
                                const ConfigSection& section) {
  if (address.empty()) {
    if (section.GivenOrUnreadable("address") && !section.Given("address")) return;
    return section.Complain("address", "missing; host:port expected, such as 127.0.0.1:7410");
  }
  const std::optional<HostPort> parsed = ReadAddress("address", address, section);
  if (!parsed.has_value()) return;
  if (IsWildcard(*parsed)) {
    return section.Complain(
        "address", absl::StrCat(address,
                                ": others look for it here; the name or address of one machine "
                                "expected. listen_address may be ",
                                address));
  }
  const std::string field = section.Given("listen_address") ? "listen_address" : "address";
  std::optional<HostPort> listens = parsed;
  if (listen_address != address) listens = ReadAddress(field, listen_address, section);
  if (!listens.has_value()) return;
  CheckSecured(field, listen_address, section);
  if (security_ != nullptr && listen_address != address) {
    const absl::Status called = security_->CheckCallAddress(address);
    if (!called.ok()) section.Complain("address", std::string(called.message()));
  }
  CheckFree({*parsed, 1, section.PathOf("address"), section.WhereIs("address")}, section,
            "address");
  // As in CheckMetrics, a wildcard stands for the addresses of one machine.
  if (IsWildcard(*listens)) listens->host = parsed->host;
  if (ToString(*listens) == ToString(*parsed)) return;
  CheckFree({*listens, 1, section.PathOf(field), section.WhereIs(field)}, section, field);
}

void AddressChecks::CheckMetrics(const std::string& address, uint32_t count,
                                 const std::string& machine, const ConfigSection& section) {
  if (address.empty()) return;
  constexpr char kField[] = "metrics_address";
  std::optional<HostPort> parsed = ParseHostPort(address);
  if (!parsed.has_value()) {
    return section.Complain(kField, absl::StrCat("'", address,
                                                 "': host:port with a port from 1 to 65535 "
                                                 "expected, such as 127.0.0.1:9464"));
  }
  if (parsed->port + uint64_t{count} > 65536) {
    return section.Complain(
        kField, absl::StrCat(address, ": ", count, " processes take a port each, up to ",
                             parsed->port + uint64_t{count} - 1, "; 65535 is the last one"));
  }
  if (security_ != nullptr) {
    const absl::Status access = security_->MetricsAccess(address).status();
    if (!access.ok()) return section.Complain(kField, std::string(access.message()));
  }
  TakeHostOf(machine, *parsed);
  CheckFree({*parsed, count, section.PathOf(kField), section.WhereIs(kField)}, section, kField);
}

void AddressChecks::CheckMeeting(const std::string& field, const std::string& address,
                                 const std::string& machine, const ConfigSection& section) {
  std::optional<HostPort> parsed = ReadAddress(field, address, section);
  if (!parsed.has_value()) return;
  CheckSecured(field, address, section);
  TakeHostOf(machine, *parsed);
  CheckFree({*parsed, 1, section.PathOf(field), section.WhereIs(field)}, section, field);
}

void AddressChecks::CheckFree(const Place& place, const ConfigSection& section,
                              const std::string& field) {
  for (const Place& other : places_) {
    const uint32_t first = std::max(place.address.port, other.address.port);
    if (!AreSameHost(other.address, place.address) || first >= place.address.port + place.count ||
        first >= other.address.port + other.count) {
      continue;
    }
    return section.Complain(
        field, absl::StrCat(ToString({place.address.host, first}), " is taken by ", other.field,
                            " in ", other.where, "; another port expected"));
  }
  places_.push_back(place);
}

}  // namespace mallocmuzero
