// What a shard's configuration must be, and what it is where it says nothing.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

inline constexpr uint64_t kDefaultMaxPositions = 1'000'000;
inline constexpr uint64_t kDefaultMaxBytes = uint64_t{1} << 30;
inline constexpr uint32_t kDefaultRememberEvictedSeconds = 3600;
inline constexpr uint64_t kDefaultRememberEvictedBytes = uint64_t{1} << 30;

// The configuration with all of the defaults filled in: those above, the mode MEMORY, the oldest
// first. No cache_bytes are no cache. InvalidArgument names the field and what would be right.
absl::StatusOr<v1::ReplayShard> CompleteShardConfig(v1::ReplayShard config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_
