#include "base/shared_vector.h"

#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "base/index.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using Place = Index<struct PlaceTag>;
using Numbers = SharedVector<Place, int64_t>;

Numbers CountTo(int64_t count) {
  Numbers numbers;
  for (int64_t k = 0; k < count; ++k) numbers.push_back(k);
  return numbers;
}

std::vector<int64_t> Elements(const Numbers& numbers) {
  std::vector<int64_t> elements;
  for (const Place place : numbers.indices()) elements.push_back(numbers[place]);
  return elements;
}

constexpr int64_t kMany = 10'000;  // of several chunks

TEST(SharedVector, HasTheElementsThatWereAdded) {
  const Numbers numbers = CountTo(kMany);
  ASSERT_EQ(numbers.size(), kMany);
  for (int64_t k = 0; k < kMany; ++k) EXPECT_EQ(numbers[Place(k)], k);
  EXPECT_EQ(numbers.back(), kMany - 1);
  EXPECT_TRUE(Numbers().empty());
}

TEST(SharedVector, ACopyDoesNotSeeLaterChanges) {
  Numbers numbers = CountTo(kMany);
  const Numbers copy = numbers;
  numbers.Mutable(Place(10)) = -1;
  numbers.push_back(7);
  EXPECT_EQ(copy[Place(10)], 10);
  EXPECT_EQ(copy.size(), kMany);
  EXPECT_EQ(numbers[Place(10)], -1);
  EXPECT_EQ(numbers.back(), 7);
}

TEST(SharedVector, CopiesShareWhatNoneOfThemHasChanged) {
  Numbers numbers = CountTo(kMany);
  const Numbers copy = numbers;
  numbers.Mutable(Place(0)) = -1;
  const Numbers& unchanged = numbers;
  EXPECT_NE(&unchanged[Place(0)], &copy[Place(0)]);
  EXPECT_EQ(&unchanged[Place(kMany - 1)], &copy[Place(kMany - 1)]);
}

TEST(SharedVector, AnElementThatNobodySharesIsChangedWhereItIs) {
  Numbers numbers = CountTo(kMany);
  const int64_t* element = &numbers[Place(0)];
  { const Numbers copy = numbers; }
  numbers.Mutable(Place(0)) = -1;
  EXPECT_EQ(element, &numbers[Place(0)]);
}

TEST(SharedVector, CopiesOfShortVectorsShareNothing) {
  const Numbers numbers = CountTo(100);
  const Numbers copy = numbers;
  EXPECT_NE(&numbers[Place(0)], &copy[Place(0)]);
  EXPECT_EQ(numbers, copy);
}

// It becomes long and short again, and keeps or drops its chunks.
TEST(SharedVector, IsWhatWasAssignedWhateverItsLength) {
  const Numbers shorter = CountTo(700);
  const Numbers longer = CountTo(kMany);
  Numbers numbers;
  for (const Numbers* assigned : {&shorter, &longer, &shorter, &longer}) {
    numbers = *assigned;
    EXPECT_EQ(numbers, *assigned);
    Numbers other = *assigned;
    other.Mutable(Place(1)) = -1;
    other.push_back(3);
    EXPECT_EQ(numbers, *assigned);
  }
}

TEST(SharedVector, IsEqualToOneOfTheSameElements) {
  Numbers numbers = CountTo(kMany);
  Numbers copy = numbers;
  EXPECT_EQ(numbers, copy);
  EXPECT_EQ(numbers, CountTo(kMany));
  EXPECT_NE(numbers, CountTo(kMany - 1));
  copy.Mutable(Place(kMany / 2)) = -1;
  EXPECT_NE(numbers, copy);
}

// Copies that are made, changed and dropped in any order, next to vectors that share nothing.
TEST(SharedVector, IsAlwaysWhatAVectorIs) {
  std::mt19937_64 random(1);
  std::vector<std::pair<Numbers, std::vector<int64_t>>> vectors(4);
  for (int step = 0; step < 20'000; ++step) {
    auto& [numbers, expected] = vectors[random() % vectors.size()];
    const auto element = static_cast<int64_t>(random());
    switch (random() % 16) {
      case 0: {
        const auto copied = vectors[random() % vectors.size()];
        numbers = copied.first;
        expected = copied.second;
        break;
      }
      case 1:
        if (!expected.empty()) {
          const size_t place = random() % expected.size();
          numbers.insert(Place(place), element);
          expected.insert(expected.begin() + place, element);
        }
        break;
      case 2:
        if (!expected.empty()) {
          const size_t place = random() % expected.size();
          numbers.Mutable(Place(place)) = element;
          expected[place] = element;
        }
        break;
      default:
        numbers.push_back(element);
        expected.push_back(element);
    }
    if (step % 100 == 0) {
      for (const auto& [some, others] : vectors) ASSERT_EQ(Elements(some), others);
    }
  }
}

TEST(SharedVector, CopiesMayBeChangedInDifferentThreads) {
  const Numbers numbers = CountTo(kMany);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([copy = numbers, t]() mutable {
      for (int round = 0; round < 100; ++round) {
        Numbers again = copy;
        for (int64_t k = t; k < kMany; k += 100) again.Mutable(Place(k)) = -1;
        copy = again;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(numbers, CountTo(kMany));
}

}  // namespace
}  // namespace mallocmuzero
