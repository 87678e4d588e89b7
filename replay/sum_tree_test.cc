#include "replay/sum_tree.h"

#include <cstddef>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(SumTree, FindsTheIndexInWhichAPointFalls) {
  SumTree tree(5);
  tree.Set(0, 2);
  tree.Set(2, 1);
  tree.Set(4, 3);
  EXPECT_EQ(tree.total(), 6);
  EXPECT_EQ(tree.Find(0), 0);
  EXPECT_EQ(tree.Find(1.999), 0);
  EXPECT_EQ(tree.Find(2), 2);
  EXPECT_EQ(tree.Find(3), 4);
  EXPECT_EQ(tree.Find(5.999), 4);
}

TEST(SumTree, FindsForManyPointsWhatItFindsForEach) {
  SumTree tree(10'000);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> weight(0, 1);
  for (size_t i = 0; i < 10'000; i += 3) tree.Set(i, weight(random));
  std::uniform_real_distribution<double> anywhere(0, tree.total());
  std::vector<double> points(500);
  for (double& point : points) point = anywhere(random);
  std::vector<size_t> each;
  for (const double point : points) each.push_back(tree.Find(point));
  std::vector<size_t> together(points.size(), 7);
  tree.Find(absl::MakeSpan(points), absl::MakeSpan(together));
  EXPECT_EQ(together, each);
}

TEST(SumTree, NeverFindsAnIndexWithoutWeight) {
  SumTree tree(8);
  tree.Set(3, 0.1);
  // Both points are at or past the total, as after a rounding error.
  EXPECT_EQ(tree.Find(0.1), 3);
  EXPECT_EQ(tree.Find(0.2), 3);
}

TEST(SumTree, OneIndexIsEnough) {
  SumTree tree(1);
  tree.Set(0, 4);
  EXPECT_EQ(tree.total(), 4);
  EXPECT_EQ(tree.Find(3), 0);
}

TEST(SumTree, GrowsAndKeepsItsWeights) {
  SumTree tree(3);
  tree.Set(0, 2);
  tree.Set(2, 1);
  tree.Grow(9);
  EXPECT_EQ(tree.size(), 9);
  EXPECT_EQ(tree.total(), 3);
  tree.Set(8, 4);
  EXPECT_EQ(tree.total(), 7);
  EXPECT_EQ(tree.Find(1.5), 0);
  EXPECT_EQ(tree.Find(2.5), 2);
  EXPECT_EQ(tree.Find(3), 8);
}

TEST(SumTree, TotalIsTheSumAfterManyChanges) {
  SumTree tree(1000);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> weight(0, 1e6);
  for (int i = 0; i < 100'000; ++i) tree.Set(random() % 1000, weight(random));
  for (size_t i = 0; i < 1000; ++i) tree.Set(i, i % 2 == 0 ? 1e-6 : 0);
  // The earlier weights of up to 1e6 leave no rounding error behind.
  EXPECT_NEAR(tree.total(), 500e-6, 1e-12);
}

}  // namespace
}  // namespace mallocmuzero
