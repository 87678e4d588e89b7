// What a cluster does unless its configuration says otherwise. docs/operations.md lists it.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_DEFAULTS_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_DEFAULTS_H_

#include <cstdint>
#include <string>

#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// One learner, one durable shard and one actor that share two cores and a gibibyte or two. Network,
// search and learning as DefaultTrainConfig("tiny") has them.
v1::LearnerRole DefaultLearnerRole();
v1::ActorRole DefaultActorRole();
v1::ReanalyseRole DefaultReanalyseRole();

// Of a shard with that name, for a learner with those options: its limiter follows them.
v1::ReplayShard DefaultReplayShard(const std::string& name, const v1::LearnerOptions& options);

// Name and address of the one shard of a configuration that has none.
inline constexpr char kDefaultShardName[] = "replay-0";
inline constexpr char kDefaultShardAddress[] = "127.0.0.1:7410";

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_DEFAULTS_H_
