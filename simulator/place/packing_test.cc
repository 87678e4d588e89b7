#include "simulator/place/packing.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_io.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::place {
namespace {

using testing::ElementsAre;

PackedValue Value(int64_t bytes, int64_t first, int64_t last) {
  return {.bytes = bytes, .first = first, .last = last};
}

PackedValue SharedValue(int64_t bytes, int64_t first, int64_t last, Sharing sharing, int32_t with) {
  return {.bytes = bytes, .first = first, .last = last, .sharing = sharing, .shares_with = with};
}

TEST(Packing, NoValuesNeedNothing) {
  EXPECT_EQ(Pack({}, 1).packed_bytes, 0);
  EXPECT_EQ(Pack({}, 1).live_bytes, 0);
}

TEST(Packing, ValuesThatDoNotLiveTogetherHaveTheSameBytes) {
  const PackedHeap heap = Pack(std::vector{Value(100, 0, 4), Value(60, 5, 9)}, 1);
  EXPECT_THAT(heap.offsets, ElementsAre(0, 0));
  EXPECT_EQ(heap.packed_bytes, 100);
  EXPECT_EQ(heap.live_bytes, 100);
}

TEST(Packing, AValueIsAllocatedBeforeThoseThatEndInItsStepAreFreed) {
  const PackedHeap heap = Pack(std::vector{Value(100, 0, 5), Value(60, 5, 9)}, 1);
  EXPECT_THAT(heap.offsets, ElementsAre(0, 100));
  EXPECT_EQ(heap.packed_bytes, 160);
  EXPECT_EQ(heap.live_bytes, 160);
}

TEST(Packing, TheLargestComesFirstThenTheOneThatLivesLongest) {
  EXPECT_THAT(Pack(std::vector{Value(40, 0, 9), Value(100, 0, 4)}, 1).offsets, ElementsAre(100, 0));
  EXPECT_THAT(Pack(std::vector{Value(40, 0, 3), Value(40, 2, 9), Value(40, 8, 12)}, 1).offsets,
              ElementsAre(40, 0, 40));
  // The first value lives for five steps, but for fewer allocations and frees than there are in the
  // two steps of the second value.
  const std::vector<PackedValue> values = {Value(40, 0, 5), Value(40, 5, 7), Value(10, 6, 6),
                                           Value(10, 6, 6), Value(10, 6, 6)};
  EXPECT_EQ(Pack(values, 1).offsets[1], 0);
  EXPECT_EQ(Pack(values, 1).offsets[0], 40);
}

TEST(Packing, TheSmallestGapIsTaken) {
  // The value of 30 bytes has to fit between all others; the gaps are 40 and 30 bytes.
  const std::vector<PackedValue> values = {Value(100, 0, 9), Value(40, 0, 4), Value(50, 0, 9),
                                           Value(30, 6, 9)};
  const PackedHeap heap = Pack(values, 1);
  EXPECT_THAT(heap.offsets, ElementsAre(0, 150, 100, 150));
  EXPECT_EQ(heap.packed_bytes, 190);
}

TEST(Packing, OffsetsAreAligned) {
  EXPECT_THAT(Pack(std::vector{Value(100, 0, 9), Value(60, 0, 9)}, 64).offsets,
              ElementsAre(0, 128));
}

TEST(Packing, ValuesThatShareHaveTheSameBytesForTheLivesOfBoth) {
  for (const Sharing sharing : {Sharing::kMust, Sharing::kMay}) {
    const std::vector<PackedValue> values = {Value(100, 0, 5), SharedValue(100, 5, 9, sharing, 0),
                                             Value(60, 7, 8)};
    const PackedHeap heap = Pack(values, 1);
    EXPECT_THAT(heap.offsets, ElementsAre(0, 0, 100));
    EXPECT_EQ(heap.live_bytes, 160);
  }
}

// Value 0 lives for two ticks until value 1 takes over its bytes at step 5. Value 2 lives for three
// ticks, so it comes first.
TEST(Packing, AValueLivesUntilAnotherOneMayTakeOverItsBytes) {
  const std::vector<PackedValue> values = {Value(40, 0, 5), SharedValue(40, 5, 9, Sharing::kMay, 0),
                                           Value(40, 1, 6)};
  EXPECT_THAT(Pack(values, 1).offsets, ElementsAre(40, 40, 0));
}

TEST(Packing, BytesBetweenTheLivesOfOneBufferAreFree) {
  const std::vector<PackedValue> values = {
      Value(100, 0, 2), SharedValue(100, 8, 9, Sharing::kMust, 0), Value(60, 4, 6)};
  EXPECT_EQ(Pack(values, 1).packed_bytes, 100);
}

// Each value lives with its two neighbours only. Comparing all pairs would exceed the test's time
// limit, and so would following the chain of the second half from each of its values.
TEST(Packing, ManyValuesTakeTimeThatGrowsWithThoseThatLiveTogether) {
  constexpr int32_t kHalf = 200'000;
  std::vector<PackedValue> values;
  for (int32_t i = 0; i < kHalf; ++i) values.push_back(Value(100, i, i + 1));
  for (int32_t i = 0; i < kHalf; ++i) {
    values.push_back(
        i == 0 ? Value(50, kHalf + 1, kHalf + 2)
               : SharedValue(50, kHalf + 1 + i, kHalf + 2 + i, Sharing::kMay, kHalf + i - 1));
  }
  const PackedHeap heap = Pack(values, 1);
  EXPECT_EQ(heap.packed_bytes, 200);
  EXPECT_EQ(heap.live_bytes, 200);
  EXPECT_EQ(heap.offsets.back(), 0);
}

struct Line {
  PackedValue value;
  int64_t offset = 0;
};

std::vector<Line> LinesOf(const std::string& name) {
  std::vector<Line> lines;
  const std::string text =
      *ReadFile(absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/tests/data/packing/", name, ".csv"));
  for (const absl::string_view row : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (row[0] == '#') continue;
    const std::vector<std::string> cells = absl::StrSplit(row, ',');
    Line line;
    EXPECT_TRUE(absl::SimpleAtoi(cells[0], &line.value.bytes));
    EXPECT_TRUE(absl::SimpleAtoi(cells[1], &line.value.first));
    EXPECT_TRUE(absl::SimpleAtoi(cells[2], &line.value.last));
    EXPECT_TRUE(absl::SimpleAtoi(cells[3], &line.value.shares_with));
    EXPECT_TRUE(absl::SimpleAtoi(cells[5], &line.offset));
    line.value.sharing = cells[4] == "must"  ? Sharing::kMust
                         : cells[4] == "may" ? Sharing::kMay
                                             : Sharing::kNone;
    lines.push_back(line);
  }
  return lines;
}

class CompilersOffsets : public testing::TestWithParam<const char*> {};

TEST_P(CompilersOffsets, AreFound) {
  const std::vector<Line> lines = LinesOf(GetParam());
  ASSERT_GT(lines.size(), 50);
  std::vector<PackedValue> values;
  for (const Line& line : lines) values.push_back(line.value);
  const PackedHeap heap = Pack(values, 4096);
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(heap.offsets[i], lines[i].offset) << i;
  EXPECT_GE(heap.packed_bytes, heap.live_bytes);
}

INSTANTIATE_TEST_SUITE_P(Packing, CompilersOffsets,
                         testing::Values("alpha_tensor", "axial", "resnet50", "switch_train"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace mallocmuzero::place
