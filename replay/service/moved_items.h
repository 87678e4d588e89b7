// Converts the items of a shard for another shard that takes them over, and back.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_MOVED_ITEMS_H_
#define MALLOCMUZERO_REPLAY_SERVICE_MOVED_ITEMS_H_

#include <grpcpp/support/slice.h>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_table.h"

namespace mallocmuzero {

// Adds an item, whose serialized ReplayItem is `wire`, to a part of what a shard hands over, with
// the return that the shard keeps for it.
void AddMovedItem(const ReplayTable::Exported& item, const grpc::Slice& wire, v1::MovedItems& part);

// Returns the insert that takes a part over. Its items and priorities are in the order of the part;
// priorities that do not fit their item are left out. InvalidArgument if an item is one that no
// shard accepts, a priority is negative or not finite, or an id of an evicted item does not have 16
// bytes.
absl::StatusOr<TableInsert> ReadMovedItems(const v1::MovedItems& part);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_MOVED_ITEMS_H_
