// The replay shards of a cluster, and which of them stores a trajectory.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_SHARD_ADDRESS_H_
#define MALLOCMUZERO_REPLAY_CLIENT_SHARD_ADDRESS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// The name and address of a replay shard.
struct ShardAddress {
  std::string name;     // for messages and metrics
  std::string address;  // host:port

  bool operator==(const ShardAddress&) const = default;
};

// The shards of a cluster's configuration, in its order.
std::vector<ShardAddress> ShardAddresses(const v1::ClusterConfig& config);

// Returns "shard NAME on ADDRESS".
std::string PeerName(const ShardAddress& shard);

// Returns the index, below `shards`, of the shard that stores the trajectory with this id. The
// result is the same in every process and every build. `shards` must be above 0.
size_t ShardOfId(absl::string_view id, size_t shards);

// InvalidArgument if there is no shard or one has no address.
absl::Status CheckShards(absl::Span<const ShardAddress> shards);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SHARD_ADDRESS_H_
