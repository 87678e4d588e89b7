// Which replay shards there are, and which of them takes a trajectory.

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

struct ShardAddress {
  std::string name;     // in messages and metrics
  std::string address;  // host:port
};

// Of a cluster's configuration, in its order.
std::vector<ShardAddress> ShardAddresses(const v1::ClusterConfig& config);

// "shard NAME on ADDRESS".
std::string PeerName(const ShardAddress& shard);

// The index, below `shards`, of the shard that takes the trajectory of this id: the same in every
// process and every build. `shards` is above 0.
size_t ShardOfId(absl::string_view id, size_t shards);

// InvalidArgument if there are none, or one has no address.
absl::Status CheckShards(absl::Span<const ShardAddress> shards);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SHARD_ADDRESS_H_
