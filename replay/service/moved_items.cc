#include "replay/service/moved_items.h"

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "replay/priority.h"
#include "replay/wire/crc32c.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"

namespace mallocmuzero {
namespace {

absl::Status AddTo(const v1::MovedItems::Moved& moved, TableInsert& insert) {
  absl::StatusOr<ItemMetadata> metadata = ReadItem(moved.item());
  if (!metadata.ok()) return metadata.status();
  std::vector<float> priorities(moved.priorities().begin(), moved.priorities().end());
  for (const float priority : priorities) {
    if (IsPriority(priority)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("priorities: ", priority, ", must be finite and not below 0"));
  }
  if (priorities.size() != metadata->positions) priorities.clear();
  insert.indices.push_back(Size32(insert.items));
  insert.items.push_back({.metadata = *std::move(metadata),
                          .wire = grpc::Slice(moved.item().data(), moved.item().size()),
                          .crc32c = Crc32c(moved.item())});
  insert.priorities.push_back(std::move(priorities));
  return absl::OkStatus();
}

}  // namespace

void AddMovedItem(const ReplayTable::Exported& item, const grpc::Slice& wire,
                  v1::MovedItems& part) {
  v1::MovedItems::Moved& moved = *part.add_items();
  moved.set_item(wire.begin(), wire.size());
  const absl::StatusOr<ItemMetadata> metadata = ReadItem(ViewOf(wire));
  if (metadata.ok() && metadata->total_return != item.total_return) {
    v1::ReplayItem fields;
    if (fields.ParseFromString(moved.item())) {
      fields.set_total_return(item.total_return);
      fields.SerializeToString(moved.mutable_item());
    }
  }
  moved.mutable_priorities()->Add(item.priorities.begin(), item.priorities.end());
}

absl::StatusOr<TableInsert> ReadMovedItems(const v1::MovedItems& part) {
  TableInsert insert{.moved = true};
  for (const v1::MovedItems::Moved& moved : part.items()) {
    MMZ_RETURN_IF_ERROR(AddTo(moved, insert));
  }
  for (const std::string& id : part.evicted()) {
    if (id.size() != kItemIdBytes) return absl::InvalidArgumentError("evicted: ids of 16 bytes");
    std::memcpy(insert.evicted.emplace_back().data(), id.data(), kItemIdBytes);
  }
  return insert;
}

}  // namespace mallocmuzero
