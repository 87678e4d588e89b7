#include "base/index.h"

#include <numeric>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using RowIndex = Index<struct RowTag>;
using ColumnIndex = Index<struct ColumnTag>;
using ::testing::ElementsAre;

TEST(Index, KindsAndNumbersDoNotConvertIntoEachOther) {
  static_assert(!std::is_constructible_v<RowIndex, ColumnIndex>);
  static_assert(!std::is_assignable_v<RowIndex&, ColumnIndex>);
  static_assert(!std::is_convertible_v<RowIndex, int>);
  static_assert(!std::is_constructible_v<size_t, RowIndex>);
  static_assert(std::is_constructible_v<RowIndex, uint64_t>);
}

TEST(Index, TakesNoMoreSpaceThanItsNumber) {
  static_assert(sizeof(RowIndex) == sizeof(int32_t));
  static_assert(std::is_trivially_copyable_v<RowIndex>);
}

TEST(Index, TakesConstants) {
  constexpr int kNone = -1;
  RowIndex row = kNone;
  EXPECT_TRUE(row < 0);
  row = 7;
  EXPECT_EQ(row.number(), 7);
  EXPECT_TRUE(row == 7 && row != 8 && row >= 7);
}

TEST(Index, MovesByDistances) {
  RowIndex row(size_t{3});
  row += 4;
  EXPECT_EQ(row - 2 - RowIndex(1), 4);
  EXPECT_EQ((row++).number(), 7);
  EXPECT_EQ((--row).number(), 7);
}

TEST(Index, IsKeyAndText) {
  absl::flat_hash_map<RowIndex, int> sums;
  sums[2] += 5;
  sums[RowIndex(2)] += 1;
  EXPECT_EQ(sums[2], 6);
  EXPECT_EQ(absl::StrCat("row ", RowIndex(-1)), "row -1");
}

TEST(IndexVector, IsAddressedByItsIndices) {
  IndexVector<RowIndex, int> sizes = {10, 20, 30};
  int sum = 0;
  for (const RowIndex row : sizes.indices()) sum += (row - RowIndex(0) + 1) * sizes[row];
  EXPECT_EQ(sum, 10 + 40 + 90);
  EXPECT_EQ(sizes.end_index().number(), 3);
  EXPECT_TRUE(sizes.contains(2));
  EXPECT_FALSE(sizes.contains(3));
  EXPECT_FALSE(sizes.contains(-1));
  EXPECT_THAT(sizes.Part(1, 2), ElementsAre(20, 30));
}

TEST(IndexVector, MakesOneElementForEachIndexBelowTheEnd) {
  const IndexVector<RowIndex, int> sizes(RowIndex(3), 4);
  EXPECT_THAT(sizes, ElementsAre(4, 4, 4));
}

TEST(IndexRange, IsEmptyIfTheEndComesBeforeTheBegin) {
  for (const RowIndex row : IndexRange<RowIndex>(5, 3)) FAIL() << row;
}

TEST(IndexSpan, ViewsTheElementsOfAVector) {
  IndexVector<RowIndex, int> sizes = {10, 20, 30};
  const IndexSpan<RowIndex, int> writable(sizes);
  writable[1] = 25;
  const IndexSpan<RowIndex, const int> view = sizes;
  EXPECT_EQ(std::accumulate(view.begin(), view.end(), 0), 65);
  EXPECT_EQ(view[1], 25);
}

}  // namespace
}  // namespace mallocmuzero
