#include "replay/client/shard_address.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero {

std::vector<ShardAddress> ShardAddresses(const v1::ClusterConfig& config) {
  std::vector<ShardAddress> shards;
  for (const v1::ReplayShard& shard : config.replay()) {
    shards.push_back({.name = shard.name(), .address = shard.address()});
  }
  return shards;
}

std::string PeerName(const ShardAddress& shard) {
  return absl::StrCat("shard ", shard.name, " on ", shard.address);
}

// Hashes by FNV-1a and scales the hash's high half to the range by a multiplication. A remainder
// would use the low bits, which FNV-1a mixes less well.
size_t ShardOfId(absl::string_view id, size_t shards) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : id) {
    hash ^= byte;
    hash *= 0x100000001b3;
  }
  return (hash >> 32) * shards >> 32;
}

absl::Status CheckShards(absl::Span<const ShardAddress> shards) {
  if (shards.empty()) return absl::InvalidArgumentError("replay: no shard, must be at least one");
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards[i].address.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("replay: shard ", i, ": address: empty, must be host:port"));
    }
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
