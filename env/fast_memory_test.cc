#include "env/fast_memory.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Region = FastMemory::Region;

constexpr int32_t kNobody = FastMemory::kNobody;
constexpr int32_t kForever = FastMemory::kForever;

std::set<StayIndex> Owners(const FastMemory& memory) {
  std::set<StayIndex> owners;
  for (const Region& region : memory.regions()) owners.insert(region.owner);
  owners.erase(kNobody);
  return owners;
}

// Returns the owners that lose their values.
std::vector<StayIndex> Occupy(FastMemory& memory, int64_t offset, int64_t size,
                              InstructionIndex last, StayIndex owner) {
  const std::set<StayIndex> before = Owners(memory);
  memory.Occupy(offset, size, last, owner);
  const std::set<StayIndex> after = Owners(memory);
  std::vector<StayIndex> evicted;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(evicted));
  return evicted;
}

TEST(FastMemory, BeginsFreeAndWithoutOwner) {
  const FastMemory memory(1024);
  EXPECT_THAT(memory.regions(), ElementsAre(Region{0, -1, kNobody, kForever}));
  EXPECT_EQ(memory.FindPlace(1024, 0, 0), 0);
  EXPECT_EQ(memory.FindPlace(1040, 0, 0), std::nullopt);
}

TEST(FastMemory, IsMadeOfRegions) {
  const FastMemory memory(1024, {{.offset = 0, .last = 7},
                                 {.offset = 64, .last = 7},
                                 {.offset = 128, .last = 7, .owner = 3, .next_use = 9},
                                 {.offset = 256, .last = 7},
                                 {.offset = 512}});
  // Two regions that nobody owns, taken equally long, are one.
  EXPECT_THAT(memory.regions(),
              ElementsAre(Region{0, 7, kNobody, kForever}, Region{128, 7, 3, 9},
                          Region{256, 7, kNobody, kForever}, Region{512, -1, kNobody, kForever}));
  EXPECT_EQ(memory.FindPlace(512, 7, 7), 512);
}

TEST(FastMemory, OccupiedBytesAreTakenUntilTheLastInstruction) {
  FastMemory memory(1024);
  EXPECT_THAT(Occupy(memory, 0, 256, 5, 0), IsEmpty());
  EXPECT_EQ(memory.FindPlace(1024, 6, 6), 0);             // free from 6 on
  EXPECT_EQ(memory.FindPlace(1024, 5, 6), std::nullopt);  // not from 5 on
  EXPECT_EQ(memory.FindPlace(768, 5, 6), 256);
  EXPECT_EQ(memory.FindPlace(784, 5, 6), std::nullopt);  // 256 + 784 is above 1024
}

TEST(FastMemory, TakesThePlaceThatLeavesLeastBeside) {
  FastMemory memory(1024);
  Occupy(memory, 512, 16, 9, 0);  // 512 free below, 496 above
  EXPECT_EQ(memory.FindPlace(400, 5, 5), 528);
  EXPECT_EQ(memory.FindPlace(512, 5, 5), 0);
}

TEST(FastMemory, SparesValuesThatAreUsedSoonest) {
  FastMemory memory(512);
  Occupy(memory, 0, 256, 3, 0);
  Occupy(memory, 256, 256, 3, 1);
  memory.SetNextUse(0, 20);
  memory.SetNextUse(256, 10);
  EXPECT_EQ(memory.FindPlace(256, 5, 5), 0);
  memory.SetNextUse(256, kForever);  // not used again
  EXPECT_EQ(memory.FindPlace(256, 5, 5), 256);
}

TEST(FastMemory, AStayThatLosesAByteLosesItsValue) {
  FastMemory memory(1024);
  Occupy(memory, 0, 256, 3, 0);
  Occupy(memory, 256, 256, 4, 1);
  EXPECT_THAT(Occupy(memory, 192, 128, 9, 2), UnorderedElementsAre(StayIndex(0), StayIndex(1)));
  EXPECT_THAT(memory.regions(),
              ElementsAre(Region{0, 3, kNobody, kForever}, Region{192, 9, 2, kForever},
                          Region{320, 4, kNobody, kForever}, Region{512, -1, kNobody, kForever}));
}

TEST(FastMemory, ReleasedBytesJoinBytesWithoutOwnerTakenAsLong) {
  FastMemory memory(1024);
  Occupy(memory, 0, 256, 3, 0);
  Occupy(memory, 256, 256, 7, 1);
  memory.Release(0, 3);
  memory.Release(256, 3);
  EXPECT_THAT(memory.regions(),
              ElementsAre(Region{0, 3, kNobody, kForever}, Region{512, -1, kNobody, kForever}));
}

TEST(FastMemory, WhatIsLeftOfARegionJoinsTheBytesBelowTakenAsLong) {
  FastMemory memory(1024);
  Occupy(memory, 0, 256, 3, 0);
  Occupy(memory, 256, 256, 3, 1);
  memory.Release(0, 3);
  Occupy(memory, 320, 64, 9, 2);
  EXPECT_THAT(memory.regions(),
              ElementsAre(Region{0, 3, kNobody, kForever}, Region{320, 9, 2, kForever},
                          Region{384, 3, kNobody, kForever}, Region{512, -1, kNobody, kForever}));
}

TEST(FastMemory, FindsTheRegionOfAByte) {
  FastMemory memory(1024);
  Occupy(memory, 256, 256, 7, 1);
  EXPECT_EQ(memory.At(255).owner, kNobody);
  EXPECT_EQ(memory.At(256).owner, 1);
  EXPECT_EQ(memory.At(511).owner, 1);
  EXPECT_EQ(memory.At(512).owner, kNobody);
  EXPECT_EQ(memory.EndOf(1), 512);
  EXPECT_EQ(memory.EndOf(2), 1024);
}

// The same memory as one entry for each 16 bytes.
class NaiveMemory {
 public:
  static constexpr int64_t kUnit = 16;

  struct Unit {
    InstructionIndex last = -1;
    StayIndex owner = kNobody;
  };

  explicit NaiveMemory(size_t units) : units_(units), next_use_(1000, kForever) {}

  void SetNextUse(StayIndex owner, InstructionIndex next_use) { next_use_[owner] = next_use; }

  std::vector<StayIndex> Occupy(size_t from, size_t count, InstructionIndex last, StayIndex owner) {
    std::set<StayIndex> evicted;
    for (size_t u = from; u < from + count; ++u) evicted.insert(units_[u].owner);
    evicted.erase(kNobody);
    for (Unit& unit : units_) {
      if (evicted.count(unit.owner) != 0) unit.owner = kNobody;
    }
    for (size_t u = from; u < from + count; ++u) units_[u] = {last, owner};
    return {evicted.begin(), evicted.end()};
  }

  void SetLast(StayIndex owner, InstructionIndex last) {
    for (Unit& unit : units_) {
      if (unit.owner == owner) unit.last = last;
    }
  }

  void Release(StayIndex owner, InstructionIndex last) {
    for (Unit& unit : units_) {
      if (unit.owner == owner) unit = {last, kNobody};
    }
  }

  bool IsFree(size_t from, size_t count, InstructionIndex first) const {
    return std::all_of(units_.begin() + from, units_.begin() + (from + count),
                       [first](const Unit& unit) { return unit.last < first; });
  }

  // The harm of losing the values there: the bytes of each over the instructions until its use.
  int64_t Harm(size_t from, size_t count, InstructionIndex now) const {
    std::map<StayIndex, int64_t> bytes;  // by owner
    for (size_t u = from; u < from + count; ++u) bytes[units_[u].owner] = 0;
    bytes.erase(kNobody);
    for (const Unit& unit : units_) {
      if (bytes.count(unit.owner) != 0) bytes[unit.owner] += kUnit;
    }
    int64_t harm = 0;
    for (const auto& [owner, lost] : bytes) {
      if (next_use_[owner] != kForever) harm += lost / (next_use_[owner] - now + 1);
    }
    return harm;
  }

  int64_t FreeBytes(InstructionIndex first) const {
    return kUnit * std::count_if(units_.begin(), units_.end(),
                                 [first](const Unit& unit) { return unit.last < first; });
  }

  // Least harm of all places, nullopt if there is no place.
  std::optional<int64_t> LeastHarm(size_t count, InstructionIndex first,
                                   InstructionIndex now) const {
    std::optional<int64_t> least;
    for (size_t from = 0; from + count <= units_.size(); ++from) {
      if (!IsFree(from, count, first)) continue;
      const int64_t harm = Harm(from, count, now);
      if (!least || harm < *least) least = harm;
    }
    return least;
  }

  // The place that FastMemory::FindPlace promises. A region begins there, and the harm is the
  // least. Among equals the least is left beside it. Among these it is the lowest.
  std::optional<size_t> BestPlace(size_t count, InstructionIndex first,
                                  InstructionIndex now) const {
    std::optional<std::tuple<int64_t, size_t, size_t>> best;  // harm, units left, place
    for (size_t from = 0; from + count <= units_.size(); ++from) {
      if ((from > 0 && !IsBorder(from)) || !IsFree(from, count, first)) continue;
      size_t end = from + count;
      while (end < units_.size() && !IsBorder(end)) ++end;
      const std::tuple place(Harm(from, count, now), end - from - count, from);
      if (!best || place < *best) best = place;
    }
    if (!best) return std::nullopt;
    return std::get<2>(*best);
  }

  const std::vector<Unit>& units() const { return units_; }

 private:
  // True if a region begins at the unit.
  bool IsBorder(size_t unit) const {
    const Unit& below = units_[unit - 1];
    return units_[unit].owner != below.owner || units_[unit].last != below.last;
  }

  std::vector<Unit> units_;
  IndexVector<StayIndex, InstructionIndex> next_use_;  // by owner
};

void ExpectSame(const FastMemory& memory, const NaiveMemory& naive) {
  for (size_t u = 0; u < naive.units().size(); ++u) {
    const Region& region = memory.At(u * NaiveMemory::kUnit);
    ASSERT_EQ(region.last, naive.units()[u].last) << "unit " << u;
    ASSERT_EQ(region.owner, naive.units()[u].owner) << "unit " << u;
  }
  const absl::Span<const Region> regions = memory.regions();
  ASSERT_EQ(regions[0].offset, 0);
  for (size_t r = 1; r < regions.size(); ++r) {
    ASSERT_LT(regions[r - 1].offset, regions[r].offset);
    const bool alike = regions[r - 1].owner == kNobody && regions[r].owner == kNobody &&
                       regions[r - 1].last == regions[r].last;
    ASSERT_FALSE(alike) << "regions " << r - 1 << " and " << r << " are one";
  }
}

// Both memories. Stays begin, become longer, are used and end, as in a game.
class Twins {
 public:
  explicit Twins(uint64_t seed) : random_(seed) {}

  void Step(InstructionIndex now) {
    for (const StayIndex owner : stays_.indices()) {
      if (stays_[owner].next_use <= now) SetNextUse(owner, NextUseAfter(now));
    }
    Place(now);
    if (!stays_.empty()) Change(StayIndex(Below(stays_.size())), now + Below(8));
    ExpectSame(memory_, naive_);
  }

 private:
  static constexpr size_t kUnits = 64;

  struct Stay {
    int64_t offset = 0;
    InstructionIndex next_use = kForever;
  };

  int32_t Below(uint64_t bound) { return random_() % bound; }
  InstructionIndex NextUseAfter(InstructionIndex now) {
    return Below(3) == 0 ? InstructionIndex(kForever) : now + 1 + Below(50);
  }

  void Place(InstructionIndex now) {
    const size_t count = 1 + Below(16);
    const int64_t size = count * NaiveMemory::kUnit;
    const InstructionIndex first = std::max(InstructionIndex(0), now - Below(6));
    const std::optional<int64_t> place = memory_.FindPlace(size, first, now);
    const std::optional<int64_t> least = naive_.LeastHarm(count, first, now);
    ASSERT_EQ(place.has_value(), least.has_value());
    ASSERT_EQ(memory_.FreeBytes(first), naive_.FreeBytes(first));
    if (!place) return;
    const size_t from = *place / NaiveMemory::kUnit;
    ASSERT_EQ(from, naive_.BestPlace(count, first, now));
    ASSERT_TRUE(naive_.IsFree(from, count, first));
    ASSERT_EQ(naive_.Harm(from, count, now), least);
    const InstructionIndex last = now + Below(8);
    const auto owner = StayIndex(stays_.size());
    std::vector<StayIndex> evicted = Occupy(memory_, *place, size, last, owner);
    std::sort(evicted.begin(), evicted.end());
    ASSERT_EQ(evicted, naive_.Occupy(from, count, last, owner));
    stays_.push_back({*place, kForever});
    SetNextUse(owner, NextUseAfter(now));
  }

  void Change(StayIndex stay, InstructionIndex last) {
    const int64_t offset = stays_[stay].offset;
    if (memory_.At(offset).owner != stay) return;
    if (Below(3) == 0) {
      memory_.Release(offset, last);
      naive_.Release(stay, last);
    } else {
      memory_.SetLast(offset, last);
      naive_.SetLast(stay, last);
    }
  }

  void SetNextUse(StayIndex stay, InstructionIndex next_use) {
    stays_[stay].next_use = next_use;
    naive_.SetNextUse(stay, next_use);
    if (memory_.At(stays_[stay].offset).owner == stay) {
      memory_.SetNextUse(stays_[stay].offset, next_use);
    }
  }

  std::mt19937_64 random_;
  FastMemory memory_{kUnits * NaiveMemory::kUnit};
  NaiveMemory naive_{kUnits};
  IndexVector<StayIndex, Stay> stays_;  // by owner
};

TEST(FastMemory, AgreesWithOneEntryForEachSixteenBytes) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Twins twins(seed);
    for (InstructionIndex now = 0; now < 120; ++now) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", instruction " << now);
      twins.Step(now);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
