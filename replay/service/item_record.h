// The format of an item's record in the database.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_ITEM_RECORD_H_
#define MALLOCMUZERO_REPLAY_SERVICE_ITEM_RECORD_H_

#include <rocksdb/slice.h>

#include <string>

#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// Returns a serialized v1::StoredItem.
std::string SerializeRecord(const ItemMetadata& metadata, const SegmentPlace& place);

// Fills in the metadata and the place of `record`. Returns false if `value` is not the record of an
// item that a shard accepts.
bool ParseRecord(const rocksdb::Slice& value, ItemDatabase::Record& record);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ITEM_RECORD_H_
