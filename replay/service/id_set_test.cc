#include "replay/service/id_set.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

TEST(IdSet, ForgetsWhatItsTimeIsOverFor) {
  IdSet ids;
  const ItemId id = MakeItem(1, 1).metadata.id;
  ids.Add(id, 7);
  EXPECT_EQ(ids.Find(id).slot, 7);
  ids.Evict(id, 100);
  ids.Forget(99);
  EXPECT_EQ(ids.Find(id).state, IdSet::State::kEvicted);
  ids.Forget(100);
  EXPECT_EQ(ids.Find(id).state, IdSet::State::kUnknown);
}

TEST(IdSet, ForgetsTheOldestOfTooMany) {
  IdSet ids(/*most_evicted=*/2);
  const auto id = [](uint64_t index) { return MakeItem(index, 1).metadata.id; };
  ids.Evict(id(1), 100);
  ids.Evict(id(2), 101);
  EXPECT_EQ(ids.evicted(), 2);
  EXPECT_EQ(ids.forgotten_early(), 0);
  ids.Evict(id(3), 102);
  EXPECT_EQ(ids.evicted(), 2);
  EXPECT_EQ(ids.Find(id(1)).state, IdSet::State::kUnknown);
  EXPECT_EQ(ids.Find(id(2)).state, IdSet::State::kEvicted);
  EXPECT_EQ(ids.forgotten_early(), 1);
  EXPECT_EQ(ids.forgotten_until(), 100);
}

TEST(IdSet, RemembersForNoLessLongAfterTheClockWasSetBack) {
  IdSet ids(/*most_evicted=*/2);
  const auto id = [](uint64_t index) { return MakeItem(index, 1).metadata.id; };
  EXPECT_EQ(ids.Evict(id(1), 100), 100);
  EXPECT_EQ(ids.Evict(id(2), 50), 100);
  ids.Forget(60);
  EXPECT_EQ(ids.evicted(), 2);
  // Nothing that is still remembered may be deleted from the disk.
  EXPECT_EQ(ids.Evict(id(3), 60), 100);
  EXPECT_EQ(ids.forgotten_until(), 100);
  ids.Forget(100);
  EXPECT_EQ(ids.evicted(), 0);
}

TEST(IdSet, AnIdThatIsBackIsNotForgotten) {
  IdSet ids;
  const ItemId id = MakeItem(1, 1).metadata.id;
  ids.Evict(id, 100);
  ids.Add(id, 3);
  ids.Forget(100);
  EXPECT_EQ(ids.Find(id).state, IdSet::State::kStored);
}

}  // namespace
}  // namespace mallocmuzero
