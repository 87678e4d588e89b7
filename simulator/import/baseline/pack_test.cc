#include "simulator/import/baseline/pack.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/size32.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using Offsets = absl::optional<std::vector<int64_t>>;

constexpr int kNoEnd = std::numeric_limits<int>::max();

Offsets PackBlocks(absl::Span<const Block> blocks, int64_t capacity, int64_t alignment,
                   int max_attempts) {
  return PackBlocks(blocks, capacity, alignment, max_attempts, std::numeric_limits<int64_t>::max());
}

// Checks that the offsets keep every promise of PackBlocks, by comparing all pairs of byte ranges.
void ExpectValid(const std::vector<Block>& blocks, int64_t capacity, int64_t alignment,
                 const std::vector<int64_t>& offsets) {
  for (const Block& a : blocks) {
    const int64_t begin = offsets[a.group] + a.delta;
    EXPECT_GE(offsets[a.group], 0);
    EXPECT_EQ(offsets[a.group] % alignment, 0);
    EXPECT_LE(begin + a.bytes, capacity);
    for (const Block& b : blocks) {
      if (a.group == b.group || a.last < b.first || b.last < a.first) continue;
      const int64_t other = offsets[b.group] + b.delta;
      EXPECT_TRUE(begin + a.bytes <= other || other + b.bytes <= begin)
          << "[" << begin << ", +" << a.bytes << ") meets [" << other << ", +" << b.bytes << ")";
    }
  }
}

TEST(Pack, NothingNeedsNoRoom) {
  const Offsets offsets = PackBlocks({}, {}, 16, 10);
  ASSERT_TRUE(offsets.has_value());
  EXPECT_TRUE(offsets->empty());
}

TEST(Pack, FillsTheLastByte) {
  // The blocks fill all 100 bytes at each of three times: 64 + 36, then 36 + 40 + 24, then
  // 40 + 24 + 36.
  const std::vector<Block> blocks = {{.first = 0, .last = 0, .bytes = 64, .group = 0},
                                     {.first = 0, .last = 1, .bytes = 36, .group = 1},
                                     {.first = 1, .last = 2, .bytes = 40, .group = 2},
                                     {.first = 1, .last = 2, .bytes = 24, .group = 3},
                                     {.first = 2, .last = 2, .bytes = 36, .group = 4}};
  const int64_t capacity = 100;
  const Offsets offsets = PackBlocks(blocks, capacity, 1, 1000);
  ASSERT_TRUE(offsets.has_value());
  ExpectValid(blocks, capacity, 1, *offsets);
}

TEST(Pack, GivesUpOnWhatCannotFit) {
  const int64_t capacity = 100;
  EXPECT_FALSE(
      PackBlocks(std::vector<Block>{{.first = 0, .last = 0, .bytes = 101}}, capacity, 1, 100));
  EXPECT_FALSE(PackBlocks(std::vector<Block>{{.first = 0, .last = 1, .bytes = 60, .group = 0},
                                             {.first = 1, .last = 1, .bytes = 60, .group = 1}},
                          capacity, 1, 100));
}

TEST(Pack, MoreBytesThanMemoryTakeNoAttempt) {
  std::vector<Block> blocks;
  for (int32_t g = 0; g < 1000; ++g) {
    blocks.push_back({.first = 0, .last = 9, .bytes = 10, .group = g});
  }
  EXPECT_TRUE(PackBlocks(blocks, 10'000, 1, 1).has_value());
  EXPECT_FALSE(PackBlocks(blocks, 9'999, 1, kNoEnd).has_value());
  // blocks of one group may share bytes
  for (Block& block : blocks) block.group = 0;
  EXPECT_TRUE(PackBlocks(blocks, 10, 1, 1).has_value());
}

TEST(Pack, EndsAfterSoManyLooks) {
  const std::vector<Block> blocks = {{.first = 0, .last = 0, .bytes = 17, .group = 0},
                                     {.first = 0, .last = 0, .bytes = 5, .group = 1},
                                     {.first = 0, .last = 0, .bytes = 16, .group = 2}};
  EXPECT_FALSE(mallocmuzero::PackBlocks(blocks, 47, 16, kNoEnd, 1000).has_value());
  // the first attempt may always end
  EXPECT_TRUE(mallocmuzero::PackBlocks(blocks, 53, 16, kNoEnd, 1).has_value());
}

// Slices of one copy are no pairs, but to compare a million of them with each other would take
// minutes.
TEST(Pack, GivesUpOnAMillionBlocksOfOneGroup) {
  std::vector<Block> blocks;
  for (int64_t byte = 0; byte < 1 << 20; ++byte) blocks.push_back({.bytes = 1, .delta = byte});
  EXPECT_EQ(PackBlocks(blocks, 1 << 20, 1, kNoEnd), absl::nullopt);
}

TEST(Pack, NeighboursInTimeShareBytes) {
  const int64_t capacity = 100;
  EXPECT_TRUE(PackBlocks(std::vector<Block>{{.first = 0, .last = 0, .bytes = 100, .group = 0},
                                            {.first = 1, .last = 1, .bytes = 100, .group = 1}},
                         capacity, 1, 1));
}

TEST(Pack, OffsetsAreAligned) {
  const std::vector<Block> blocks = {{.first = 0, .last = 0, .bytes = 17, .group = 0},
                                     {.first = 0, .last = 0, .bytes = 5, .group = 1},
                                     {.first = 0, .last = 0, .bytes = 16, .group = 2}};
  // 17 bytes take up 32: 32 + 16 + 5 = 53.
  const int64_t enough = 53;
  const Offsets offsets = PackBlocks(blocks, enough, 16, 100);
  ASSERT_TRUE(offsets.has_value());
  ExpectValid(blocks, enough, 16, *offsets);
  EXPECT_FALSE(PackBlocks(blocks, 47, 16, 100));
}

TEST(Pack, BlocksOfAGroupKeepTheirPlaceInIt) {
  // A sliced copy occupies its second half later; the other block fits below it until then.
  const std::vector<Block> blocks = {{.first = 0, .last = 3, .bytes = 50, .delta = 0, .group = 0},
                                     {.first = 2, .last = 3, .bytes = 50, .delta = 50, .group = 0},
                                     {.first = 0, .last = 1, .bytes = 50, .group = 1}};
  const int64_t capacity = 100;
  const Offsets offsets = PackBlocks(blocks, capacity, 1, 100);
  ASSERT_TRUE(offsets.has_value());
  EXPECT_EQ((*offsets)[0], 0);
  EXPECT_EQ((*offsets)[1], 50);
}

TEST(Pack, AGroupHasOneOffsetAtAllTimes) {
  // Group 0 occupies memory at two times; at each of them another block competes for the lowest
  // offset.
  const std::vector<Block> blocks = {{.first = 0, .last = 0, .bytes = 40, .group = 0},
                                     {.first = 2, .last = 2, .bytes = 40, .group = 0},
                                     {.first = 0, .last = 0, .bytes = 60, .group = 1},
                                     {.first = 2, .last = 2, .bytes = 60, .group = 2}};
  const int64_t capacity = 100;
  const Offsets offsets = PackBlocks(blocks, capacity, 1, 100);
  ASSERT_TRUE(offsets.has_value());
  ExpectValid(blocks, capacity, 1, *offsets);
}

TEST(Pack, EqualInputsGiveEqualOffsets) {
  std::vector<Block> blocks;
  for (int32_t g = 0; g < 40; ++g) {
    const uint32_t first = g % 10;
    blocks.push_back({.first = first, .last = first + 3, .bytes = 10 + g * 7 % 30, .group = g});
  }
  const int64_t capacity = 500;
  EXPECT_EQ(PackBlocks(blocks, capacity, 4, 200), PackBlocks(blocks, capacity, 4, 200));
}

// Cuts [first, last] x [low, high) into rectangles until they are small. The rectangles can be
// packed without waste.
void Cut(uint32_t first, uint32_t last, int64_t low, int64_t high, std::mt19937& random,
         std::vector<Block>& blocks) {
  const bool by_time = last > first && random() % 2 == 0;
  if (random() % 8 == 0 || (!by_time && high - low < 16)) {
    blocks.push_back({.first = first, .last = last, .bytes = high - low, .group = Size32(blocks)});
  } else if (by_time) {
    const auto middle = first + static_cast<uint32_t>(random() % (last - first));
    Cut(first, middle, low, high, random, blocks);
    Cut(middle + 1, last, low, high, random, blocks);
  } else {
    const int64_t middle = low + 1 + static_cast<int64_t>(random() % (high - low - 1));
    Cut(first, last, low, middle, random, blocks);
    Cut(first, last, middle, high, random, blocks);
  }
}

// With half as much capacity again, each case can be packed. With the exact capacity most still
// can.
TEST(PackProperty, PacksWhatWasCutFromARectangle) {
  std::mt19937 random(7);
  int exact = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<Block> blocks;
    Cut(0, 19, 0, 256, random, blocks);
    std::shuffle(blocks.begin(), blocks.end(), random);
    for (const int64_t size : {256, 384}) {
      const int64_t capacity = size;
      const Offsets offsets = PackBlocks(blocks, capacity, 1, 300);
      EXPECT_TRUE(offsets.has_value() || size == 256) << round;
      if (!offsets) continue;
      exact += size == 256 ? 1 : 0;
      ExpectValid(blocks, capacity, 1, *offsets);
    }
  }
  EXPECT_GE(exact, 50);
}

TEST(PackProperty, WhateverItReturnsIsValid) {
  std::mt19937 random(11);
  int packed = 0;
  for (int round = 0; round < 200; ++round) {
    const int groups = 1 + random() % 12;
    std::vector<Block> blocks;
    for (int32_t g = 0; g < groups; ++g) {
      for (uint32_t piece = 0; piece <= random() % 3; ++piece) {
        const uint32_t first = random() % 10;
        blocks.push_back({.first = first,
                          .last = first + static_cast<uint32_t>(random() % (10 - first)),
                          .bytes = static_cast<int64_t>(1 + random() % 60),
                          .delta = static_cast<int64_t>(random() % 40),
                          .group = g});
      }
    }
    const int64_t capacity = 200 + random() % 100;
    const Offsets offsets = PackBlocks(blocks, capacity, 8, 50);
    if (!offsets) continue;
    ++packed;
    ExpectValid(blocks, capacity, 8, *offsets);
  }
  EXPECT_GE(packed, 50);
  EXPECT_LT(packed, 200);
}

}  // namespace
}  // namespace mallocmuzero
