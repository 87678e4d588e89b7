#include "replay/service/testing/items.h"

#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/id_set.h"
#include "replay/service/replay_table.h"
#include "replay/wire/crc32c.h"
#include "replay/wire/item.h"
#include "replay/wire/wire.h"

namespace mallocmuzero {
namespace {

std::set<std::string> Ids(const ReplayTable& table, bool evicted) {
  std::vector<ItemId> stored;
  std::vector<ItemId> gone;
  for (size_t part = 0; part < IdSet::kParts; ++part) table.ListIds(part, stored, gone);
  std::set<std::string> ids;
  for (const ItemId& id : evicted ? gone : stored) ids.emplace(id.data(), id.size());
  return ids;
}

}  // namespace

std::string IdString(uint64_t index) {
  std::string id(kItemIdBytes, '\0');
  std::memcpy(id.data(), &index, sizeof(index));
  return id;
}

std::set<std::string> IdsOf(uint64_t begin, uint64_t end) {
  std::set<std::string> ids;
  for (uint64_t index = begin; index < end; ++index) ids.insert(IdString(index));
  return ids;
}

uint64_t IndexOf(absl::string_view wire) {
  v1::ReplayItem item;
  uint64_t index = UINT64_MAX;
  if (item.ParseFromArray(wire.data(), wire.size()) && item.id().size() == kItemIdBytes) {
    std::memcpy(&index, item.id().data(), sizeof(index));
  }
  return index;
}

v1::ReplayItem MakeReplayItem(uint64_t index, uint32_t positions, double total_return,
                              size_t payload_bytes) {
  v1::ReplayItem item;
  item.set_id(IdString(index));
  item.set_program_sha256(std::string(kProgramIdBytes, 'p'));
  item.set_total_return(total_return);
  item.set_positions(positions);
  item.set_encoding(v1::ReplayItem::TRAJECTORY);
  item.set_payload(std::string(payload_bytes, 'a' + index % 26));
  return item;
}

Item MakeItem(uint64_t index, uint32_t positions, double total_return, size_t payload_bytes) {
  const std::string wire =
      MakeReplayItem(index, positions, total_return, payload_bytes).SerializeAsString();
  return {.metadata = *ReadItem(wire),
          .wire = grpc::Slice(wire.data(), wire.size()),
          .crc32c = Crc32c(wire)};
}

absl::Status Insert(ReplayTable& table, std::vector<Item> items, bool replace,
                    v1::InsertResponse* response) {
  TableInsert insert{.items = std::move(items), .replace = replace};
  insert.indices.resize(insert.items.size());
  std::iota(insert.indices.begin(), insert.indices.end(), 0);
  TableInsert* const inserts[] = {&insert};
  const absl::Status status = table.Insert(inserts);
  if (response != nullptr) *response = insert.response;
  return status;
}

std::set<std::string> StoredIds(const ReplayTable& table) { return Ids(table, false); }

std::set<std::string> EvictedIds(const ReplayTable& table) { return Ids(table, true); }

}  // namespace mallocmuzero
