#include "replay/service/item_record.h"

#include <rocksdb/slice.h>

#include <cmath>
#include <cstring>
#include <string>

#include "base/message_file.h"
#include "mallocmuzero/v1/replay.pb.h"
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

}  // namespace mallocmuzero
