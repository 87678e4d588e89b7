#include "base/union_find.h"

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(UnionFind, ASetIsKnownByItsLeastNumber) {
  UnionFind sets(6);
  EXPECT_EQ(sets.Find(5), 5);
  sets.Union(5, 3);
  sets.Union(4, 5);
  EXPECT_EQ(sets.Find(4), 3);
  sets.Union(1, 4);
  for (const int32_t x : {1, 3, 4, 5}) EXPECT_EQ(sets.Find(x), 1);
  for (const int32_t x : {0, 2}) EXPECT_EQ(sets.Find(x), x);
  sets.Union(5, 1);
  EXPECT_EQ(sets.Find(5), 1);
}

TEST(UnionFind, GrowsByNumbersThatAreInNoSet) {
  UnionFind sets;
  sets.Grow(2);
  sets.Union(0, 1);
  sets.Grow(4);
  EXPECT_EQ(sets.Find(1), 0);
  EXPECT_EQ(sets.Find(2), 2);
  EXPECT_EQ(sets.Find(3), 3);
}

}  // namespace
}  // namespace mallocmuzero
