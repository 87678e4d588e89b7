#include "replay/service/item_record.h"

#include <cmath>
#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/service/storage.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

TEST(ItemRecord, GivesBackWhatWasWritten) {
  const ItemMetadata metadata = MakeItem(3, 7, 0.5).metadata;
  const SegmentPlace place = {.segment = 2, .bytes = 100, .offset = 5000, .crc32c = 0x12345678};
  ItemDatabase::Record record;
  ASSERT_TRUE(ParseRecord(SerializeRecord(metadata, place), record));
  EXPECT_EQ(record.metadata.id, metadata.id);
  EXPECT_EQ(record.metadata.program_sha256, metadata.program_sha256);
  EXPECT_EQ(record.metadata.total_return, 0.5);
  EXPECT_EQ(record.metadata.positions, 7);
  EXPECT_EQ(record.place.segment, 2);
  EXPECT_EQ(record.place.bytes, 100);
  EXPECT_EQ(record.place.offset, 5000);
  EXPECT_EQ(record.place.crc32c, 0x12345678);
}

TEST(ItemRecord, OfNoItemThatAShardTakesIsDamaged) {
  const auto parses = [](const std::function<void(v1::StoredItem&)>& change) {
    v1::StoredItem item;
    item.ParseFromString(SerializeRecord(MakeItem(3, 7).metadata, {.segment = 1, .bytes = 100}));
    change(item);
    ItemDatabase::Record record;
    return ParseRecord(item.SerializeAsString(), record);
  };
  EXPECT_TRUE(parses([](auto&) {}));
  EXPECT_TRUE(parses([](auto& item) { item.set_positions(kMaxItemPositions); }));
  EXPECT_TRUE(parses([](auto& item) { item.set_bytes(kMaxPayloadBytes); }));
  EXPECT_FALSE(parses([](auto& item) { item.set_id("short"); }));
  EXPECT_FALSE(parses([](auto& item) { item.clear_program_sha256(); }));
  EXPECT_FALSE(parses([](auto& item) { item.set_total_return(std::nan("")); }));
  EXPECT_FALSE(parses([](auto& item) { item.set_positions(0); }));
  EXPECT_FALSE(parses([](auto& item) { item.set_positions(kMaxItemPositions + 1); }));
  // Reading it would take that much memory.
  EXPECT_FALSE(parses([](auto& item) { item.set_bytes(kMaxPayloadBytes + 1); }));
  // No bytes have the checksum of no bytes, which is 0.
  EXPECT_FALSE(parses([](auto& item) { item.set_bytes(0); }));
}

TEST(ItemRecord, GivesBackTheCountersOfAShard) {
  ShardCounters counters = {.next_serial = 9, .inserted_items = 8, .highest_priority = 0.5};
  counters.rate_limit.emplace().set_min_positions(64);
  counters.limiter_offset = -12.5;
  ShardCounters read;
  ASSERT_TRUE(ParseCounters(SerializeCounters(counters), read));
  EXPECT_EQ(read.next_serial, 9);
  EXPECT_EQ(read.inserted_items, 8);
  EXPECT_EQ(read.highest_priority, 0.5);
  EXPECT_EQ(read.rate_limit->min_positions(), 64);
  EXPECT_EQ(read.limiter_offset, -12.5);
  counters.highest_priority = -1;
  ASSERT_TRUE(ParseCounters(SerializeCounters(counters), read));
  EXPECT_EQ(read.highest_priority, 0.5);
  EXPECT_FALSE(ParseCounters("\x7f", read));
}

}  // namespace
}  // namespace mallocmuzero
