// Replay shards and trajectories for tests.

#ifndef MALLOCMUZERO_REPLAY_TESTING_SHARDS_H_
#define MALLOCMUZERO_REPLAY_TESTING_SHARDS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"

namespace mallocmuzero {

// The configuration of a shard in mode MEMORY that listens on any free port of 127.0.0.1.
v1::ReplayShard ShardConfig(const std::string& name = "a", uint64_t max_positions = 10000);

// Starts a shard without TLS and metrics. Fails the test and returns null if it does not start.
std::unique_ptr<ReplayShard> StartShard(const v1::ReplayShard& config);

// Starts a writer. Fails the test and returns null if it does not start.
std::unique_ptr<ReplayWriter> StartWriter(ReplayWriterOptions options);

// The address at which clients reach the shard.
ShardAddress AddressOf(const ReplayShard& shard, const std::string& name = "a");

// A game of `length` decisions with the return `value`; the first 8 bytes of its id hold `index`.
v1::Trajectory MakeTrajectory(uint64_t index, int length, double value = 0);

// The ids that the shard at `address` (host:port) lists as stored or, if `evicted`, as evicted.
std::set<std::string> ListIds(const std::string& address, bool evicted = false);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_TESTING_SHARDS_H_
