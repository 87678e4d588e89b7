// Between trajectories and the items that shards keep.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ITEM_CODEC_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ITEM_CODEC_H_

#include <grpcpp/support/slice.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

// A serialized ReplayItem: `fields`, whose own payload is empty, and `payload`.
grpc::Slice EncodeItem(const v1::ReplayItem& fields, absl::string_view payload);

// The same of a trajectory, compressed if that makes it smaller. InvalidArgument, naming the field,
// if no shard would take it.
absl::StatusOr<grpc::Slice> EncodeTrajectory(const v1::Trajectory& trajectory);

// The trajectory in an item. InvalidArgument if it is damaged, has another id, or not as many
// decisions as the item says.
absl::StatusOr<v1::Trajectory> DecodeTrajectory(const v1::ReplayItem& item);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ITEM_CODEC_H_
