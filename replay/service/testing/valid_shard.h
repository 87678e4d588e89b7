// A configuration of a shard for tests.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_TESTING_VALID_SHARD_H_
#define MALLOCMUZERO_REPLAY_SERVICE_TESTING_VALID_SHARD_H_

#include <cstdint>

#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// A valid configuration of a shard in memory without a rate limit. Tests change what they are
// about.
inline v1::ReplayShard ValidShard() {
  v1::ReplayShard config;
  config.set_mode(v1::ReplayShard::MEMORY);
  config.set_eviction(v1::ReplayShard::OLDEST_FIRST);
  config.set_max_positions(1'000'000);
  config.set_max_bytes(uint64_t{1} << 30);
  config.set_priority_exponent(1);
  config.set_remember_evicted_seconds(3600);
  config.set_remember_evicted_bytes(uint64_t{1} << 30);
  config.set_copies(3);
  config.set_copy_bytes(uint64_t{1} << 30);
  return config;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_TESTING_VALID_SHARD_H_
