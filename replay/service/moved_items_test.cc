#include "replay/service/moved_items.h"

#include <cmath>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_table.h"
#include "replay/service/testing/items.h"
#include "replay/wire/crc32c.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A part with one item of two positions.
v1::MovedItems PartOf(std::initializer_list<float> priorities) {
  v1::MovedItems part;
  v1::MovedItems::Moved& moved = *part.add_items();
  moved.set_item(MakeReplayItem(1, 2).SerializeAsString());
  moved.mutable_priorities()->Add(priorities.begin(), priorities.end());
  return part;
}

TEST(MovedItems, KeepTheirPrioritiesAndTheIdsOfEvictedOnes) {
  v1::MovedItems part = PartOf({0.5F, 0});
  part.add_evicted(IdString(9));
  const absl::StatusOr<TableInsert> insert = ReadMovedItems(part);
  ASSERT_TRUE(insert.ok()) << insert.status();
  EXPECT_TRUE(insert->moved);
  EXPECT_FALSE(insert->is_limited());
  ASSERT_THAT(insert->items, SizeIs(1));
  EXPECT_EQ(insert->items[0].metadata.positions, 2);
  EXPECT_EQ(insert->items[0].crc32c, Crc32c(part.items(0).item()));
  EXPECT_THAT(insert->indices, ElementsAre(0));
  ASSERT_THAT(insert->priorities, SizeIs(1));
  EXPECT_THAT(insert->priorities[0], ElementsAre(0.5F, 0));
  ASSERT_THAT(insert->evicted, SizeIs(1));
  EXPECT_EQ(ViewOf(insert->evicted[0]), IdString(9));
}

TEST(MovedItems, KeepTheReturnThatTheShardHasForThem) {
  const Item replacement = MakeItem(1, 2, /*total_return=*/0.25);
  v1::MovedItems part;
  AddMovedItem({.total_return = 0.5}, replacement.wire, part);
  AddMovedItem({.total_return = 0.25}, replacement.wire, part);
  EXPECT_EQ(part.items(1).item(), ViewOf(replacement.wire));
  const absl::StatusOr<TableInsert> insert = ReadMovedItems(part);
  ASSERT_TRUE(insert.ok()) << insert.status();
  ASSERT_THAT(insert->items, SizeIs(2));
  EXPECT_EQ(insert->items[0].metadata.total_return, 0.5);
  EXPECT_EQ(insert->items[1].metadata.total_return, 0.25);
}

TEST(MovedItems, LoseAnotherNumberOfPrioritiesThanTheyHavePositions) {
  for (const auto& priorities : {std::initializer_list<float>{0.5F}, {0.5F, 1, 2}, {}}) {
    const absl::StatusOr<TableInsert> insert = ReadMovedItems(PartOf(priorities));
    ASSERT_TRUE(insert.ok()) << insert.status();
    ASSERT_THAT(insert->priorities, SizeIs(1));
    EXPECT_THAT(insert->priorities[0], IsEmpty());
  }
}

TEST(MovedItems, ThatNoShardCouldHaveStoredAreRefused) {
  const auto code = [](const v1::MovedItems& part) { return ReadMovedItems(part).status().code(); };
  for (const float bad : {-1.0F, std::nanf(""), HUGE_VALF}) {
    EXPECT_EQ(code(PartOf({0.5F, bad})), absl::StatusCode::kInvalidArgument) << bad;
  }
  v1::MovedItems part = PartOf({});
  part.mutable_items(0)->mutable_item()->pop_back();
  EXPECT_EQ(code(part), absl::StatusCode::kInvalidArgument);
  part = PartOf({});
  part.add_evicted("short");
  EXPECT_EQ(code(part), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mallocmuzero
