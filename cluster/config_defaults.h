// The defaults of a cluster's configuration, which docs/operations.md lists.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_DEFAULTS_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_DEFAULTS_H_

#include <cstdint>
#include <string>

#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// The defaults suit one learner, one durable shard and one actor that share two cores and one or
// two GiB. Network, search and learning are those of DefaultTrainConfig("tiny").
v1::LearnerRole DefaultLearnerRole();
v1::ActorRole DefaultActorRole();
v1::ReanalyseRole DefaultReanalyseRole();

// The defaults of a shard with this name, for a learner with these options, from which the shard's
// rate limit is derived.
v1::ReplayShard DefaultReplayShard(const std::string& name, const v1::LearnerOptions& options);

// The name and address of the single shard that a configuration without shards gets.
inline constexpr char kDefaultShardName[] = "replay-0";
inline constexpr char kDefaultShardAddress[] = "127.0.0.1:7410";

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_DEFAULTS_H_
