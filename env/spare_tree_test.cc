#include "env/spare_tree.h"

#include <cstdint>
#include <random>
#include <vector>

#include "base/testing/index_matching.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

SpareTree TreeOf(const IndexVector<InstructionIndex, double>& values) {
  SpareTree tree(values.size());
  for (const InstructionIndex i : values.indices()) tree.Set(i, values[i]);
  return tree;
}

TEST(SpareTree, FindsWhereTheSumGoingBackIsReached) {
  const SpareTree tree = TreeOf({4, 0, 3, 5, 2});
  EXPECT_EQ(tree.FindFromRight(5, 2), 4);   // 2
  EXPECT_EQ(tree.FindFromRight(5, 3), 3);   // 2 + 5 = 7
  EXPECT_EQ(tree.FindFromRight(5, 7), 3);   // exactly
  EXPECT_EQ(tree.FindFromRight(5, 8), 2);   // 2 + 5 + 3 = 10
  EXPECT_EQ(tree.FindFromRight(5, 11), 0);  // 14; 0 at 1 adds nothing
  EXPECT_EQ(tree.FindFromRight(3, 4), 0);   // from 2 on: 3 + 0 + 4
}

TEST(SpareTree, FindsNothingBeyondTheWholeSum) {
  const SpareTree tree = TreeOf({4, 0, 3, 5, 2});
  EXPECT_EQ(tree.FindFromRight(5, 14.5), -1);
  EXPECT_EQ(tree.FindFromRight(0, 1), -1);
  EXPECT_EQ(SpareTree(0).FindFromRight(0, 1), -1);
}

TEST(SpareTree, SetReplacesANumber) {
  SpareTree tree = TreeOf({1, 1, 1});
  tree.Set(2, 0);
  EXPECT_EQ(tree.Get(2), 0);
  EXPECT_EQ(tree.FindFromRight(3, 1), 1);
  EXPECT_EQ(tree.FindFromRight(3, 3), -1);
}

InstructionIndex NaiveFindFromRight(const IndexVector<InstructionIndex, double>& values,
                                    InstructionIndex end, double wanted) {
  double sum = 0;
  for (InstructionIndex i = end; i-- > 0;) {
    sum += values[i];
    if (sum >= wanted) return i;
  }
  return -1;
}

TEST(SpareTree, AgreesWithAddingUp) {
  std::mt19937_64 random(1);
  for (uint32_t count = 1; count <= 40; ++count) {
    IndexVector<InstructionIndex, double> values(count, 0);
    SpareTree tree(count);
    for (int step = 0; step < 200; ++step) {
      const InstructionIndex index(random() % count);
      values[index] = random() % 3 == 0 ? 0 : static_cast<double>(random() % 100);
      tree.Set(index, values[index]);
      const InstructionIndex end(random() % (count + 1));
      const double wanted = 1 + static_cast<double>(random() % (uint64_t{20} * count));
      ASSERT_EQ(tree.FindFromRight(end, wanted), NaiveFindFromRight(values, end, wanted))
          << "count " << count << ", end " << end << ", wanted " << wanted;
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
