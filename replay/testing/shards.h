// Shards and trajectories for tests.

#ifndef MALLOCMUZERO_REPLAY_TESTING_SHARDS_H_
#define MALLOCMUZERO_REPLAY_TESTING_SHARDS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"

namespace mallocmuzero {

// A memory shard on any free port of loopback, of `max_positions` positions.
v1::ReplayShard ShardConfig(const std::string& name = "a", uint64_t max_positions = 10000);

// Fails the test if it does not start.
std::unique_ptr<ReplayShard> StartShard(const v1::ReplayShard& config);

ShardAddress AddressOf(const ReplayShard& shard, const std::string& name = "a");

// Game number `index` (its id says so) of `length` decisions that brings `value` in all.
v1::Trajectory MakeTrajectory(uint64_t index, int length, double value = 0);

// The ids that the shard lists as stored, or as evicted.
std::set<std::string> ListIds(const std::string& address, bool evicted = false);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_TESTING_SHARDS_H_
