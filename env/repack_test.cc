#include "env/repack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

constexpr int kAttempts = 8;
constexpr int64_t kMemory = 400;

AddressBlock Block(int64_t offset, int64_t bytes, InstructionIndex first, InstructionIndex last,
                   bool moves) {
  return {.offset = offset,
          .bytes = bytes,
          .first = first,
          .last = last,
          .kept_until = last,
          .moves = moves};
}

std::vector<int64_t> Offsets(const std::vector<AddressBlock>& blocks) {
  std::vector<int64_t> offsets;
  for (const AddressBlock& block : blocks) offsets.push_back(block.offset);
  return offsets;
}

TEST(Repack, MovesWhatIsInTheWayToWhereItCouldHaveBeen) {
  // The first 100 bytes were taken when the second block came.
  std::vector<AddressBlock> blocks = {Block(0, 100, 0, 2, false), Block(100, 100, 1, 9, true),
                                      Block(0, 300, 5, 6, true)};
  int64_t steps = 0;
  ASSERT_TRUE(Repack(blocks, kMemory, true, kAttempts, &steps));
  EXPECT_THAT(Offsets(blocks), ElementsAre(0, 300, 0));
  EXPECT_EQ(steps, 3);  // both others look at the first block, and the second one at the third
}

TEST(Repack, TriesAnotherOrderWhereTheLargestFirstFindsNoPlace) {
  // The larger block that moves has a place on either side of the first one. The wanted block has
  // one only below, since the second block takes the bytes above later.
  std::vector<AddressBlock> blocks = {Block(190, 10, 0, 9, false), Block(200, 200, 10, 12, false),
                                      Block(200, 185, 3, 9, true), Block(0, 180, 3, 12, true)};
  ASSERT_FALSE(Repack(blocks, kMemory, true, 1));
  EXPECT_THAT(Offsets(blocks), ElementsAre(190, 200, 200, 0));
  ASSERT_TRUE(Repack(blocks, kMemory, true, 2));
  EXPECT_THAT(Offsets(blocks), ElementsAre(190, 200, 200, 0));
}

TEST(Repack, OnlyTheWantedBlockTakesBytesThatHoldAValue) {
  std::vector<AddressBlock> blocks = {Block(0, 200, 0, 2, false), Block(200, 100, 1, 9, true),
                                      Block(0, 300, 5, 6, true)};
  blocks[0].kept_until = 5;
  EXPECT_FALSE(Repack(blocks, kMemory, true, kAttempts));
  EXPECT_THAT(Offsets(blocks), ElementsAre(0, 200, 0));
  ASSERT_TRUE(Repack(blocks, kMemory, false, kAttempts));
  EXPECT_THAT(Offsets(blocks), ElementsAre(0, 300, 0));
}

TEST(Repack, FailsWhereTheBytesAreNotThere) {
  std::vector<AddressBlock> blocks = {Block(100, 101, 0, 9, true), Block(0, 300, 5, 6, true)};
  EXPECT_FALSE(Repack(blocks, kMemory, true, kAttempts));
  EXPECT_THAT(Offsets(blocks), ElementsAre(100, 0));
}

// The orders of Repack without any shortcut.
bool RepackInOrders(std::vector<AddressBlock>& blocks, int64_t capacity, bool keep_values) {
  const size_t wanted = blocks.size() - 1;
  const auto meet = [&](size_t a, size_t b) {
    const bool beside_wanted = a == wanted || b == wanted;
    const auto end = [&](size_t k) {
      return beside_wanted && !keep_values ? blocks[k].last : blocks[k].kept_until;
    };
    return blocks[a].first <= end(b) && blocks[b].first <= end(a);
  };
  std::vector<size_t> order;
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].moves) order.push_back(b);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::vector<AddressBlock> result = blocks;
    std::vector<bool> has_place(blocks.size());
    for (size_t b = 0; b < blocks.size(); ++b) has_place[b] = !blocks[b].moves;
    size_t k = 0;
    for (; k < order.size(); ++k) {
      const size_t b = order[k];
      int64_t& offset = result[b].offset;
      const auto collides = [&] {
        for (size_t other = 0; other < blocks.size(); ++other) {
          if (!has_place[other] || !meet(b, other)) continue;
          if (offset < result[other].offset + result[other].bytes &&
              result[other].offset < offset + result[b].bytes) {
            return true;
          }
        }
        return false;
      };
      for (offset = 0; offset + result[b].bytes <= capacity && collides();) ++offset;
      if (offset + result[b].bytes > capacity) break;
      has_place[b] = true;
    }
    if (k == order.size()) {
      blocks = result;
      return true;
    }
    std::rotate(order.begin(), order.begin() + k, order.begin() + k + 1);
  }
  return false;
}

// Blocks that all begin together and leave no place for the wanted one, which is twice as large.
std::vector<AddressBlock> BlocksOfOneStart(int64_t count) {
  std::vector<AddressBlock> blocks;
  for (int64_t k = 0; k < count; ++k)
    blocks.push_back(Block(16 * k, 16, 0, InstructionIndex(1 + k % 7), true));
  blocks.push_back(Block(0, 32, 0, 0, true));
  return blocks;
}

// The steps of a search that finds no place for all of them.
int64_t StepsForBlocksOfOneStart(int64_t count) {
  std::vector<AddressBlock> blocks = BlocksOfOneStart(count);
  int64_t steps = 0;
  EXPECT_FALSE(Repack(blocks, 16 * count + 16, true, kAttempts, &steps));
  return steps;
}

TEST(Repack, TakesBoundedStepsHoweverManyBlocksMeet) {
  EXPECT_GT(StepsForBlocksOfOneStart(300), 300 * 300 / 2);  // each looks at all before it
  for (const int64_t count : {4'000, 16'000, 64'000, 300'000}) {
    EXPECT_LE(StepsForBlocksOfOneStart(count), kMostRepackSteps + count) << count;
  }
}

bool Meet(const AddressBlock& a, const AddressBlock& b) {
  return a.first <= b.kept_until && b.first <= a.kept_until && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

// Blocks that once came one after the other, and one that finds no place.
std::vector<AddressBlock> CrowdedBlocks(std::mt19937_64& random, int64_t capacity) {
  std::vector<AddressBlock> blocks;
  const InstructionIndex now = 30;
  for (int k = 0; k < 200; ++k) {
    const auto first = InstructionIndex(random() % 30);
    AddressBlock block = Block(random() % capacity, 1 + random() % (capacity / 6), first,
                               first + random() % 16, false);
    if (random() % 6 == 0) block.kept_until = std::max(block.last, now);
    if (block.offset + block.bytes > capacity) continue;
    if (absl::c_any_of(blocks, [&](const AddressBlock& other) { return Meet(block, other); })) {
      continue;
    }
    block.moves = block.last >= now && random() % 8 != 0;
    blocks.push_back(block);
  }
  const auto bytes = static_cast<int64_t>(1 + random() % (capacity / 2));
  blocks.push_back(Block(0, bytes, now - random() % 3, now + random() % 3, true));
  return blocks;
}

TEST(Repack, FindsWhatItsOrdersFind) {
  constexpr int64_t kCapacity = 60;
  int packed = 0;
  constexpr int kCases = 3000;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<AddressBlock> blocks = CrowdedBlocks(random, kCapacity);
    std::vector<AddressBlock> expected = blocks;
    const bool keep_values = seed % 2 == 0;
    const bool is_packed = Repack(blocks, kCapacity, keep_values, kAttempts);
    ASSERT_EQ(is_packed, RepackInOrders(expected, kCapacity, keep_values)) << "seed " << seed;
    ASSERT_EQ(Offsets(blocks), Offsets(expected)) << "seed " << seed;
    if (is_packed) ++packed;
  }
  EXPECT_GT(packed, kCases / 10);
  EXPECT_LT(packed, kCases * 9 / 10);
}

TEST(Repack, EitherWayFindsWhatTheTwoSearchesFind) {
  constexpr int64_t kCapacity = 60;
  int second_only = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<AddressBlock> blocks = CrowdedBlocks(random, kCapacity);
    std::vector<AddressBlock> expected = blocks;
    int64_t expected_steps = 0;
    bool is_packed = Repack(expected, kCapacity, true, kAttempts, &expected_steps);
    if (!is_packed) {
      is_packed = Repack(expected, kCapacity, false, kAttempts, &expected_steps);
      if (is_packed) ++second_only;
    }
    int64_t steps = 0;
    ASSERT_EQ(RepackEitherWay(blocks, kCapacity, kAttempts, &steps), is_packed) << "seed " << seed;
    ASSERT_EQ(Offsets(blocks), Offsets(expected)) << "seed " << seed;
    ASSERT_EQ(steps, expected_steps) << "seed " << seed;
  }
  EXPECT_GT(second_only, 50);
}

// The offsets of the blocks that move, and the steps of the search.
std::pair<std::vector<int64_t>, int64_t> Repacked(std::vector<AddressBlock> blocks,
                                                  int64_t capacity, bool keep_values) {
  int64_t steps = 0;
  Repack(blocks, capacity, keep_values, kAttempts, &steps);
  std::vector<int64_t> offsets;
  for (const AddressBlock& block : blocks) {
    if (block.moves) offsets.push_back(block.offset);
  }
  return {offsets, steps};
}

TEST(Repack, TheOrderOfBlocksThatDoNotMoveChangesNothing) {
  constexpr int64_t kCapacity = 200;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<AddressBlock> blocks = CrowdedBlocks(random, kCapacity);
    std::vector<AddressBlock> ascending = blocks;
    std::stable_sort(ascending.begin(), ascending.end() - 1,
                     [](const AddressBlock& a, const AddressBlock& b) {
                       return a.moves != b.moves ? a.moves : !a.moves && a.offset < b.offset;
                     });
    for (const bool keep_values : {false, true}) {
      ASSERT_EQ(Repacked(blocks, kCapacity, keep_values),
                Repacked(ascending, kCapacity, keep_values))
          << "seed " << seed;
    }
  }
}

TEST(Repack, NoTwoBlocksEverHaveAByteAtOneTime) {
  int packed = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<AddressBlock> blocks;
    // Each block begins at an offset where it meets no other block.
    while (blocks.size() < 12) {
      const auto first = InstructionIndex(random() % 20);
      AddressBlock block = Block(random() % 40 * 10, (1 + random() % 10) * 10, first,
                                 first + random() % 6, random() % 2 == 0);
      block.kept_until += random() % 3;
      bool is_free = block.offset + block.bytes <= kMemory;
      for (const AddressBlock& other : blocks) is_free = is_free && !Meet(block, other);
      if (is_free) blocks.push_back(block);
    }
    blocks.push_back(Block(0, 200, 10, 12, true));
    const std::vector<AddressBlock> before = blocks;
    if (!Repack(blocks, kMemory, true, kAttempts)) {
      EXPECT_EQ(Offsets(blocks), Offsets(before));
      continue;
    }
    ++packed;
    for (size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_TRUE(blocks[a].moves || blocks[a].offset == before[a].offset);
      EXPECT_LE(blocks[a].offset + blocks[a].bytes, kMemory);
      for (size_t b = 0; b < a; ++b) EXPECT_FALSE(Meet(blocks[a], blocks[b])) << seed;
    }
  }
  EXPECT_GT(packed, 500);
  EXPECT_LT(packed, 2000);
}

}  // namespace
}  // namespace mallocmuzero
