#include "env/address_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr int64_t kMemory = 100;

struct Visited {
  int64_t begin = 0;
  int64_t end = 0;
  StayIndex stay = 0;

  friend bool operator==(const Visited&, const Visited&) = default;
};

// All bytes that are visited if the visits go on below these stays.
std::vector<Visited> Visit(const AddressHistory& history, const std::vector<StayIndex>& through) {
  std::vector<Visited> visited;
  history.ForEach([&](int64_t begin, int64_t end, StayIndex stay) {
    visited.push_back({begin, end, stay});
    return std::find(through.begin(), through.end(), stay) != through.end();
  });
  return visited;
}

TEST(AddressHistory, SkipsWhatNobodyHasHad) {
  AddressHistory history(kMemory);
  EXPECT_THAT(Visit(history, {}), ElementsAre());
  history.Lay(0, 20, 30);
  EXPECT_THAT(Visit(history, {0}), ElementsAre(Visited{20, 50, 0}));
}

TEST(AddressHistory, FindsWhatAStayLiesOn) {
  AddressHistory history(kMemory);
  history.Lay(0, 0, 20);
  history.Lay(1, 30, 30);
  history.Lay(2, 10, 40);
  EXPECT_THAT(Visit(history, {}),
              ElementsAre(Visited{0, 10, 0}, Visited{10, 50, 2}, Visited{50, 60, 1}));
  EXPECT_THAT(Visit(history, {2}),
              ElementsAre(Visited{0, 10, 0}, Visited{10, 50, 2}, Visited{10, 20, 0},
                          Visited{30, 50, 1}, Visited{50, 60, 1}));
}

TEST(AddressHistory, BelowAPieceOfAStayOnlyThatPieceIsVisited) {
  AddressHistory history(kMemory);
  history.Lay(0, 0, 100);
  history.Lay(1, 0, 100);
  history.Lay(2, 40, 20);
  EXPECT_THAT(Visit(history, {1}),
              ElementsAre(Visited{0, 40, 1}, Visited{0, 40, 0}, Visited{40, 60, 2},
                          Visited{60, 100, 1}, Visited{60, 100, 0}));
}

TEST(AddressHistory, AStayThatTakesBytesOverLiesOnWhatTheGiverLayOn) {
  AddressHistory history(kMemory);
  history.Lay(0, 0, 100);
  history.Lay(1, 10, 20);
  history.HandOver(1, 2, 10);
  EXPECT_THAT(Visit(history, {2}), ElementsAre(Visited{0, 10, 0}, Visited{10, 30, 2},
                                               Visited{10, 30, 0}, Visited{30, 100, 0}));
}

TEST(AddressHistory, UncoversPiecesAndWhatLiesBelowThem) {
  AddressHistory history(kMemory);
  history.Lay(0, 0, 100);
  history.Lay(1, 0, 60);
  history.Lay(2, 20, 60);  // moves to another place
  const std::vector<AddressHistory::Uncovered> ground = {{0, 20, 1}, {20, 60, 1}, {60, 90, 0}};
  history.Uncover(ground);
  EXPECT_THAT(history.top(), ElementsAre(AddressHistory::Piece{0, 1}, AddressHistory::Piece{60, 0},
                                         AddressHistory::Piece{90, AddressHistory::kNobody}));
  history.Lay(2, 70, 30);
  EXPECT_THAT(Visit(history, {1, 2}),
              ElementsAre(Visited{0, 60, 1}, Visited{0, 60, 0}, Visited{60, 70, 0},
                          Visited{70, 100, 2}, Visited{70, 90, 0}));
}

TEST(AddressHistory, StaysThatMoveAgainAndAgainTakeNoMoreMemory) {
  AddressHistory history(kMemory);
  history.Lay(0, 0, kMemory);
  const std::vector<AddressHistory::Uncovered> ground = {{0, kMemory, 0}};
  history.Lay(1, 0, 40);
  size_t after_some = 0;
  for (int move = 1; move <= 10'000; ++move) {
    history.Uncover(ground);
    history.Lay(1, move % 60, 40);
    if (move == 1000) after_some = history.HeapBytes();
  }
  EXPECT_EQ(history.HeapBytes(), after_some);
  EXPECT_THAT(Visit(history, {1}), ElementsAre(Visited{0, 40, 0}, Visited{40, 80, 1},
                                               Visited{40, 80, 0}, Visited{80, 100, 0}));
}

// For every byte a list of all stays that have had it, the last one first.
TEST(AddressHistory, KnowsTheStaysOfEveryByteInTheirOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    AddressHistory history(kMemory);
    std::vector<std::vector<StayIndex>> expected(kMemory);
    for (StayIndex stay = 0; stay < 40; ++stay) {
      const auto offset = static_cast<int64_t>(random() % kMemory);
      const auto size = static_cast<int64_t>(1 + random() % (kMemory - offset));
      history.Lay(stay, offset, size);
      for (int64_t b = offset; b < offset + size; ++b) {
        expected[b].insert(expected[b].begin(), stay);
      }
    }
    std::vector<std::vector<StayIndex>> found(kMemory);
    history.ForEach([&](int64_t begin, int64_t end, StayIndex stay) {
      for (int64_t b = begin; b < end; ++b) found[b].push_back(stay);
      return true;
    });
    ASSERT_THAT(found, ElementsAreArray(expected)) << "seed " << seed;
  }
}

// Such as of a program that writes one short-lived value after the other.
TEST(AddressHistory, VisitsAPileOfAMillionStays) {
  constexpr int32_t kStays = 1'000'000;
  AddressHistory history(kMemory);
  for (StayIndex stay = 0; stay < kStays; ++stay) history.Lay(stay, 10, 20);
  StayIndex expected = kStays;
  bool is_in_order = true;
  history.ForEach([&](int64_t begin, int64_t end, StayIndex stay) {
    is_in_order = is_in_order && begin == 10 && end == 30 && stay == --expected;
    return true;
  });
  EXPECT_TRUE(is_in_order);
  EXPECT_EQ(expected, 0);
}

}  // namespace
}  // namespace mallocmuzero
