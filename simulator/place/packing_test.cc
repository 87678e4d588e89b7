#include "simulator/place/packing.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/place/testing/placeable.h"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"

namespace mallocmuzero::place {
namespace {

using testing::ElementsAre;

PackedArray Array(int64_t bytes, int64_t first, int64_t last) {
  return {.bytes = bytes, .lives = {{first, last}}};
}

TEST(Packing, ArraysThatDoNotLiveTogetherShareBytes) {
  const std::vector<PackedArray> arrays = {Array(100, 0, 4), Array(60, 5, 9)};
  int64_t heap = 0;
  EXPECT_THAT(PackInOrder(arrays, PackingOrder::kSize, 1, heap), ElementsAre(0, 0));
  EXPECT_EQ(heap, 100);
}

TEST(Packing, BothEndsOfALifeBelongToIt) {
  const std::vector<PackedArray> arrays = {Array(100, 0, 5), Array(60, 5, 9)};
  int64_t heap = 0;
  EXPECT_THAT(PackInOrder(arrays, PackingOrder::kSize, 1, heap), ElementsAre(0, 100));
  EXPECT_EQ(heap, 160);
}

// 100 stands from 0 and 40 on top of it. 30 lives with 40 only: the gap of 100 below 40 holds it.
TEST(Packing, TheSmallestGapThatHoldsAnArrayIsTaken) {
  const std::vector<PackedArray> arrays = {Array(100, 0, 4), Array(40, 2, 9), Array(30, 6, 9)};
  int64_t heap = 0;
  EXPECT_THAT(PackInOrder(arrays, PackingOrder::kSize, 1, heap), ElementsAre(0, 100, 0));
  EXPECT_EQ(heap, 140);
}

TEST(Packing, TheLongestLifeFirstIsAnotherPacking) {
  const std::vector<PackedArray> arrays = {Array(100, 0, 4), Array(40, 2, 9), Array(30, 6, 9)};
  int64_t heap = 0;
  EXPECT_THAT(PackInOrder(arrays, PackingOrder::kDuration, 1, heap), ElementsAre(40, 0, 40));
}

TEST(Packing, OffsetsAreMultiplesOfTheAlignment) {
  const std::vector<PackedArray> arrays = {Array(100, 0, 9), Array(60, 0, 9)};
  int64_t heap = 0;
  EXPECT_THAT(PackInOrder(arrays, PackingOrder::kSize, 64, heap), ElementsAre(0, 128));
  EXPECT_EQ(heap, 188);
}

TEST(Packing, LiveBytesAreTheMostAtOneTime) {
  EXPECT_EQ(LiveBytes(std::vector{Array(100, 0, 4), Array(40, 2, 9), Array(30, 6, 9)}), 140);
}

// The write-back of f2 is waited for before r1, so f2's bytes are free from there.
TEST(Packing, AnArrayLivesFromItsWriteToTheEndOfItsCopyOut) {
  const Placeable chain = Import(place_check::ModuleFromText(place_check::kChain.original));
  const Program& program = chain.program;
  const uint32_t f2 = Number(program, "f2");
  Mapping mapping = AllHbmMapping(program);
  mapping.intervals.push_back({.buffer = BufferMadeBy(program, "f2"),
                               .first = f2,
                               .last = f2,
                               .copy_out_start = static_cast<int32_t>(f2 + 1),
                               .copy_out_done = static_cast<int32_t>(f2 + 1)});
  UseFast(program, BufferMadeBy(program, "f2"), f2, f2, mapping);
  const std::vector<PackedArray> arrays = PackedArrays(program, mapping);
  ASSERT_EQ(arrays.size(), 1);
  EXPECT_EQ(arrays[0].bytes, 4096);  // 1024 floats
  ASSERT_EQ(arrays[0].lives.size(), 1);
  EXPECT_EQ(arrays[0].lives[0].first, 4 * int64_t{f2} + 3);
  EXPECT_EQ(arrays[0].lives[0].last, 4 * int64_t{f2 + 1} + 2);
}

}  // namespace
}  // namespace mallocmuzero::place
