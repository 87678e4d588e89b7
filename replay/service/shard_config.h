// Defaults and checks of a shard's configuration.

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

// Returns the configuration with defaults for the fields that it leaves out: the values above, mode
// MEMORY and eviction OLDEST_FIRST. cache_bytes stays as it is; 0 means no cache. InvalidArgument
// names the field and its valid values.
absl::StatusOr<v1::ReplayShard> CompleteShardConfig(v1::ReplayShard config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_
