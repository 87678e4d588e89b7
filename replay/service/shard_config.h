// Checks of a shard's configuration.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/check_field.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// The allowed ranges of the numeric fields of a shard.
absl::Span<const FieldRange> ShardRanges();

// The fields of a shard with wrong values, besides those out of range.
std::vector<WrongField> WrongShardFields(const v1::ReplayShard& config);

// The first wrong field as InvalidArgument. A shard has no defaults, so every field with a range
// must be set; cluster/config_defaults.h has the defaults of a cluster.
absl::Status CheckShardConfig(const v1::ReplayShard& config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SHARD_CONFIG_H_
