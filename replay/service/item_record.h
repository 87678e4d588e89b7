// The formats of the values in the database of a shard.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_ITEM_RECORD_H_
#define MALLOCMUZERO_REPLAY_SERVICE_ITEM_RECORD_H_

#include <rocksdb/slice.h>

#include <cstdint>
#include <string>
#include <vector>

#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// The version of the formats of keys, values and segment files, which docs/replay.md describes.
inline constexpr uint32_t kStoredFormatVersion = 1;

// Returns a serialized v1::StoredItem.
std::string SerializeRecord(const ItemMetadata& metadata, const SegmentPlace& place);

// Fills in the metadata and the place of `record`. Returns false if `value` is not the record of an
// item that a shard accepts.
bool ParseRecord(const rocksdb::Slice& value, ItemDatabase::Record& record);

// Returns a serialized v1::StoredShard.
std::string SerializeCounters(const ShardCounters& counters);

// Fills in the counters, but leaves a highest priority that is not valid as it was. Returns false
// if `value` is no v1::StoredShard.
bool ParseCounters(const rocksdb::Slice& value, ShardCounters& counters);

// The priorities of an item, which are stored as they are in memory; none if one of them is not
// valid.
std::vector<float> ParsePriorities(const rocksdb::Slice& value);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ITEM_RECORD_H_
