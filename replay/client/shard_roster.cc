#include "replay/client/shard_roster.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/message_file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "replay/client/shard_address.h"
#include "rpc/host_port.h"

namespace mallocmuzero {
namespace {

using Shard = v1::ShardRoster::Shard;

// The name in the configuration of a shard of the list.
absl::string_view NameInConfig(absl::string_view name) { return name.substr(0, name.find('#')); }

const Shard* Find(const v1::ShardRoster& roster, absl::string_view name) {
  const auto found = std::find_if(roster.shards().begin(), roster.shards().end(),
                                  [&](const Shard& shard) { return shard.name() == name; });
  return found == roster.shards().end() ? nullptr : &*found;
}

Shard* Latest(v1::ShardRoster& roster, absl::string_view name) {
  return const_cast<Shard*>(LatestShard(roster, name));
}

// The name in the list of a new shard.
std::string NewName(const v1::ShardRoster& roster, const std::string& name) {
  const auto earlier =
      std::count_if(roster.shards().begin(), roster.shards().end(),
                    [&](const Shard& shard) { return NameInConfig(shard.name()) == name; });
  return earlier == 0 ? name : absl::StrCat(name, "#", earlier + 1);
}

Shard& Append(v1::ShardRoster& roster, const std::string& name, const std::string& address) {
  Shard& shard = *roster.add_shards();
  shard.set_name(name);
  shard.set_address(address);
  shard.set_state(v1::ShardRoster::ACTIVE);
  return shard;
}

v1::ShardRoster Next(v1::ShardRoster roster) {
  roster.set_epoch(roster.epoch() + 1);
  return roster;
}

bool IsName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(),
                                      [](char c) { return absl::ascii_isalnum(c) || c == '-'; });
}

// NAME, or NAME#2, NAME#3 and so on.
bool IsNameInList(absl::string_view name) {
  const absl::string_view in_config = NameInConfig(name);
  if (!IsName(in_config)) return false;
  if (name == in_config) return true;
  uint32_t number = 0;
  return absl::SimpleAtoi(name.substr(in_config.size() + 1), &number) && number >= 2 &&
         name == absl::StrCat(in_config, "#", number);
}

// Another shard at the same address that has not left; null if there is none.
const Shard* AtTheSameAddress(const v1::ShardRoster& roster, absl::string_view name,
                              absl::string_view address) {
  for (const Shard& shard : roster.shards()) {
    const bool stays = shard.state() != v1::ShardRoster::LEFT;
    if (stays && shard.address() == address && shard.name() != name) return &shard;
  }
  return nullptr;
}

bool IsGiven(const v1::ClusterConfig& config, absl::string_view name_in_list) {
  return std::any_of(
      config.replay().begin(), config.replay().end(),
      [&](const v1::ReplayShard& given) { return given.name() == NameInConfig(name_in_list); });
}

// InvalidArgument if the list is of other shards than those of the configuration, or if a new
// section is a shard of the list under another name: its games would count for two shards.
absl::Status CheckIsOfTheseShards(const v1::ShardRoster& roster, const v1::ClusterConfig& config) {
  bool knows_any = false;
  for (const v1::ReplayShard& given : config.replay()) {
    if (LatestShard(roster, given.name()) != nullptr) {
      knows_any = true;
      continue;
    }
    const Shard* const same = AtTheSameAddress(roster, given.name(), given.address());
    if (same == nullptr || IsGiven(config, same->name())) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "replay: ", given.name(), " has the address of shard ", NameInConfig(same->name()),
        " in the run's list of shards (shards.textproto): keep that name"));
  }
  if (knows_any) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "replay: the run's list of shards (shards.textproto) has none of these. Remove the list if "
      "the run was copied or moved to other shards; otherwise add the sections of its shards");
}

// A name from outside, as one line of text.
std::string Printed(absl::string_view name) { return absl::CHexEscape(name.substr(0, 80)); }

absl::Status NoShard(const v1::ShardRoster& roster, absl::string_view name) {
  std::string names;
  for (const Shard& shard : roster.shards()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", shard.name());
  }
  return absl::NotFoundError(
      absl::StrCat("the cluster has no shard ", Printed(name), "; it has ", names));
}

// Checks that the heirs of each shard that is not active lead to active shards.
absl::Status CheckHeirs(const v1::ShardRoster& roster) {
  absl::flat_hash_set<absl::string_view> settled;
  for (size_t before = SIZE_MAX; settled.size() != before;) {
    before = settled.size();
    for (const Shard& shard : roster.shards()) {
      const bool has_heirs =
          !shard.heirs().empty() &&
          std::all_of(shard.heirs().begin(), shard.heirs().end(),
                      [&](const std::string& heir) { return settled.contains(heir); });
      if (shard.state() == v1::ShardRoster::ACTIVE || has_heirs) settled.insert(shard.name());
    }
  }
  for (const Shard& shard : roster.shards()) {
    if (settled.contains(shard.name())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", shard.name(), ": heirs that lead to active shards expected"));
  }
  return absl::OkStatus();
}

}  // namespace

const Shard* LatestShard(const v1::ShardRoster& roster, absl::string_view name) {
  const Shard* latest = nullptr;
  for (const Shard& shard : roster.shards()) {
    if (NameInConfig(shard.name()) == NameInConfig(name)) latest = &shard;
  }
  return latest;
}

v1::ShardRoster RosterOf(const std::vector<ShardAddress>& shards) {
  v1::ShardRoster roster;
  roster.set_epoch(1);
  for (const ShardAddress& shard : shards) Append(roster, shard.name, shard.address);
  return roster;
}

v1::ShardRoster RosterOf(const v1::ClusterConfig& config) {
  return RosterOf(ShardAddresses(config));
}

uint64_t RosterFingerprint(const v1::ShardRoster& roster) {
  v1::ShardRoster content = roster;
  content.clear_header();
  const std::string hash = Sha256(SerializeDeterministically(content));
  uint64_t fingerprint = 0;
  std::memcpy(&fingerprint, hash.data(), sizeof(fingerprint));
  return fingerprint == 0 ? 1 : fingerprint;
}

std::vector<ShardAddress> ActiveShards(const v1::ShardRoster& roster) {
  std::vector<ShardAddress> active;
  for (const Shard& shard : roster.shards()) {
    if (shard.state() != v1::ShardRoster::ACTIVE) continue;
    active.push_back({.name = shard.name(), .address = shard.address()});
  }
  return active;
}

std::string ShardOfGame(const v1::ShardRoster& roster, absl::string_view name,
                        absl::string_view id) {
  // Each step leads to another shard, because heirs are active when a shard leaves. The count ends
  // the search in a list that breaks this rule.
  for (int step = 0; step <= roster.shards_size(); ++step) {
    const Shard* shard = Find(roster, name);
    if (shard == nullptr) return {};
    if (shard->state() == v1::ShardRoster::ACTIVE) return shard->name();
    if (shard->heirs().empty()) return {};
    name = shard->heirs(ShardOfId(id, shard->heirs_size()));
  }
  return {};
}

absl::Status CheckRoster(const v1::ShardRoster& roster) {
  if (ActiveShards(roster).empty()) return absl::InvalidArgumentError("no active shard");
  absl::flat_hash_set<absl::string_view> names;
  for (const Shard& shard : roster.shards()) {
    if (!IsNameInList(shard.name()) || !ParseHostPort(shard.address()).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard '", Printed(shard.name()), "': a name and an address expected"));
    }
    if (!names.insert(shard.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat("shard ", shard.name(), ": is there twice"));
    }
    if (shard.state() < v1::ShardRoster::ACTIVE || shard.state() > v1::ShardRoster::LEFT) {
      return absl::InvalidArgumentError(
          absl::StrCat("shard ", shard.name(), ": state: ACTIVE, LEAVING or LEFT expected"));
    }
  }
  for (const Shard& shard : roster.shards()) {
    for (const std::string& heir : shard.heirs()) {
      if (!names.contains(heir)) return NoShard(roster, heir);
    }
  }
  return CheckHeirs(roster);
}

absl::StatusOr<v1::ShardRoster> AddShard(v1::ShardRoster roster, const std::string& name,
                                         const std::string& address) {
  if (!IsName(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard '", Printed(name), "': letters, digits and hyphens expected"));
  }
  if (!ParseHostPort(address).has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shard ", name, ": address '", Printed(address), "': host:port expected"));
  }
  const Shard* known = LatestShard(roster, name);
  if (known != nullptr && known->state() == v1::ShardRoster::ACTIVE &&
      known->address() == address) {
    return roster;
  }
  for (const Shard& shard : roster.shards()) {
    if (shard.state() == v1::ShardRoster::LEFT) continue;
    if (NameInConfig(shard.name()) != name && shard.address() != address) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the cluster already has shard ", shard.name(), " on ", shard.address()));
  }
  Append(roster, NewName(roster, name), address);
  return Next(std::move(roster));
}

absl::StatusOr<v1::ShardRoster> BeginRemoval(v1::ShardRoster roster, const std::string& name) {
  Shard* leaving = Latest(roster, name);
  if (leaving == nullptr) return NoShard(roster, name);
  if (leaving->state() != v1::ShardRoster::ACTIVE) return roster;
  if (const Shard* same = AtTheSameAddress(roster, leaving->name(), leaving->address())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "shards ", leaving->name(), " and ", same->name(), " have one address, so they are one ",
        "process: stop the learner, and remove one of them from run_dir/shards.textproto"));
  }
  for (const Shard& shard : roster.shards()) {
    if (shard.state() == v1::ShardRoster::LEAVING) {
      return absl::FailedPreconditionError(
          absl::StrCat("shard ", shard.name(), " is still leaving: finish its removal first"));
    }
    if (&shard == leaving || shard.state() != v1::ShardRoster::ACTIVE) continue;
    leaving->add_heirs(shard.name());
  }
  if (leaving->heirs().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "shard ", leaving->name(), " is the only one of the cluster: add another one first"));
  }
  leaving->set_state(v1::ShardRoster::LEAVING);
  return Next(std::move(roster));
}

absl::StatusOr<v1::ShardRoster> EndRemoval(v1::ShardRoster roster, const std::string& name) {
  Shard* leaving = Latest(roster, name);
  if (leaving == nullptr) return NoShard(roster, name);
  if (leaving->state() == v1::ShardRoster::LEFT) return roster;
  if (leaving->state() == v1::ShardRoster::ACTIVE) {
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", leaving->name(), " is not leaving"));
  }
  leaving->set_state(v1::ShardRoster::LEFT);
  return Next(std::move(roster));
}

absl::StatusOr<Reconciled> Reconcile(v1::ShardRoster roster, const v1::ClusterConfig& config) {
  MMZ_RETURN_IF_ERROR(CheckIsOfTheseShards(roster, config));
  Reconciled result;
  bool changed = false;
  for (const v1::ReplayShard& given : config.replay()) {
    Shard* known = Latest(roster, given.name());
    if (known == nullptr) {
      Append(roster, given.name(), given.address());
      changed = true;
      result.notes.push_back(absl::StrCat("shard ", given.name(), " is new in the configuration"));
    } else if (known->state() == v1::ShardRoster::LEFT) {
      result.notes.push_back(absl::StrCat("shard ", given.name(),
                                          " was removed from the cluster: remove its section from "
                                          "the configuration"));
    } else if (known->address() != given.address()) {
      result.notes.push_back(absl::StrCat("shard ", given.name(), " has moved from ",
                                          known->address(), " to ", given.address()));
      known->set_address(given.address());
      changed = true;
    }
  }
  for (const ShardAddress& shard : ActiveShards(roster)) {
    if (IsGiven(config, shard.name)) continue;
    result.notes.push_back(absl::StrCat("shard ", shard.name, " on ", shard.address,
                                        " was added to the cluster: add its section to the "
                                        "configuration"));
  }
  if (ActiveShards(roster).empty()) {
    return absl::InvalidArgumentError("replay: no section is of an active shard of the cluster");
  }
  result.roster = changed ? Next(std::move(roster)) : std::move(roster);
  return result;
}

}  // namespace mallocmuzero
