// Converts between trajectories and the items that shards keep.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ITEM_CODEC_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ITEM_CODEC_H_

#include <grpcpp/support/slice.h>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// Serializes a trajectory as a ReplayItem, compressed by zstd if that makes it smaller.
// InvalidArgument names the field if no shard would accept the trajectory.
absl::StatusOr<grpc::Slice> EncodeTrajectory(const v1::Trajectory& trajectory);

// Returns the trajectory in an item. InvalidArgument if it is damaged, takes more than 256 MiB
// uncompressed, or has another id or another number of decisions than the item says.
absl::StatusOr<v1::Trajectory> DecodeTrajectory(const v1::ReplayItem& item);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ITEM_CODEC_H_
