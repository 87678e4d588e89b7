#include "replay/service/item_record.h"

#include <rocksdb/slice.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/message_file.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/priority.h"
#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

std::string SerializeRecord(const ItemMetadata& metadata, const SegmentPlace& place) {
  v1::StoredItem item;
  item.set_id(metadata.id.data(), metadata.id.size());
  item.set_program_sha256(metadata.program_sha256);
  item.set_total_return(metadata.total_return);
  item.set_positions(metadata.positions);
  item.set_segment(place.segment);
  item.set_offset(place.offset);
  item.set_bytes(place.bytes);
  item.set_crc32c(place.crc32c);
  return item.SerializeAsString();
}

bool ParseRecord(const rocksdb::Slice& value, ItemDatabase::Record& record) {
  v1::StoredItem item;
  if (!ParseBytes({value.data(), value.size()}, item) || item.id().size() != kItemIdBytes ||
      item.program_sha256().size() != kProgramIdBytes || !std::isfinite(item.total_return()) ||
      item.positions() == 0 || item.positions() > kMaxItemPositions || item.bytes() == 0 ||
      item.bytes() > kMaxPayloadBytes) {
    return false;
  }
  std::memcpy(record.metadata.id.data(), item.id().data(), kItemIdBytes);
  record.metadata.program_sha256 = item.program_sha256();
  record.metadata.total_return = item.total_return();
  record.metadata.positions = item.positions();
  record.place = {.segment = item.segment(),
                  .bytes = item.bytes(),
                  .offset = item.offset(),
                  .crc32c = item.crc32c()};
  return true;
}

std::string SerializeCounters(const ShardCounters& counters) {
  v1::StoredShard shard;
  shard.set_version(kStoredFormatVersion);
  shard.set_next_serial(counters.next_serial);
  shard.set_inserted_items(counters.inserted_items);
  shard.set_inserted_positions(counters.inserted_positions);
  shard.set_duplicate_items(counters.duplicate_items);
  shard.set_evicted_items(counters.evicted_items);
  shard.set_drawn_positions(counters.drawn_positions);
  shard.set_highest_priority(counters.highest_priority);
  if (counters.rate_limit.has_value()) *shard.mutable_rate_limit() = *counters.rate_limit;
  shard.set_limiter_offset(counters.limiter_offset);
  return shard.SerializeAsString();
}

bool ParseCounters(const rocksdb::Slice& value, ShardCounters& counters) {
  v1::StoredShard shard;
  if (!ParseBytes({value.data(), value.size()}, shard)) return false;
  const double highest_priority = counters.highest_priority;
  counters = {.next_serial = shard.next_serial(),
              .inserted_items = shard.inserted_items(),
              .inserted_positions = shard.inserted_positions(),
              .duplicate_items = shard.duplicate_items(),
              .evicted_items = shard.evicted_items(),
              .drawn_positions = shard.drawn_positions(),
              .highest_priority = highest_priority,
              .rate_limit = shard.rate_limit()};
  if (std::isfinite(shard.limiter_offset())) counters.limiter_offset = shard.limiter_offset();
  if (IsPriority(shard.highest_priority())) counters.highest_priority = shard.highest_priority();
  return true;
}

std::vector<float> ParsePriorities(const rocksdb::Slice& value) {
  std::vector<float> values(value.size() / sizeof(float));
  if (values.empty()) return values;  // memcpy takes no null pointer
  std::memcpy(values.data(), value.data(), values.size() * sizeof(float));
  if (!std::all_of(values.begin(), values.end(), IsPriority)) values.clear();
  return values;
}

}  // namespace mallocmuzero
