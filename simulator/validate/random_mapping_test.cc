// Mappings that are valid by construction must be accepted; one mistake in them must be found.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/validate/test_util.h"
#include "simulator/validate/testing/random_case.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::validate {
namespace {

using ::testing::IsEmpty;
using testing::RandomProgram;
using testing::RandomValidMapping;

constexpr int kCases = 600;

// The accesses in fast memory that the interval serves, ascending.
std::vector<AccessIndex> Served(const Program& program, const Mapping& mapping,
                                const Interval& it) {
  std::vector<AccessIndex> served;
  for (const AccessIndex a : program.AccessesOfBuffer(it.buffer)) {
    const InstructionIndex i = program.accesses()[a].instruction;
    if (mapping.in_fast_memory[a] && it.first <= i && i <= it.last) served.push_back(a);
  }
  return served;
}

// Makes one mistake at interval k. Returns false if this mistake cannot be made there.
using Mistake = std::function<bool(const Program&, Mapping&, size_t k)>;

// Makes the mistake in random mappings, at the first interval where it is possible, and expects
// that the rule is reported (any rule if none is given).
void ExpectFound(const Mistake& make_mistake, std::optional<Rule> rule) {
  int made = 0;
  for (int seed = 0; seed < kCases; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomProgram(random);
    const Mapping valid = RandomValidMapping(program, random);
    for (size_t k = 0; k < valid.intervals.size(); ++k) {
      Mapping mapping = valid;
      if (!make_mistake(program, mapping, k)) continue;
      ++made;
      const std::vector<Violation> violations = Validate(program, mapping);
      if (rule) {
        ASSERT_THAT(violations, Breaks(*rule)) << "seed " << seed << ", interval " << k;
      } else {
        ASSERT_FALSE(violations.empty()) << "seed " << seed << ", interval " << k;
      }
    }
  }
  EXPECT_GE(made, 100);
}

TEST(RandomMappings, AreAccepted) {
  size_t intervals = 0;
  size_t fast_groups = 0;
  for (int seed = 0; seed < 5 * kCases; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomProgram(random);
    const Mapping mapping = RandomValidMapping(program, random);
    ASSERT_THAT(Validate(program, mapping), IsEmpty()) << "seed " << seed;
    intervals += mapping.intervals.size();
    for (const CarriedGroup& group : program.carried_groups()) {
      for (const Interval& it : mapping.intervals) {
        fast_groups +=
            it.buffer == group.parameter_buffer && it.first == program.loops()[group.loop].begin;
      }
    }
  }
  EXPECT_GE(intervals, 5 * kCases);
  EXPECT_GE(fast_groups, 500);
}

TEST(RandomMappings, MissAnIntervalThatWasRemoved) {
  ExpectFound(
      [](const Program& program, Mapping& mapping, size_t k) {
        if (Served(program, mapping, mapping.intervals[k]).empty()) return false;
        mapping.intervals.erase(mapping.intervals.begin() + k);
        return true;
      },
      Rule::kNoInterval);
}

TEST(RandomMappings, MissTheEndOfAnIntervalThatWasCut) {
  ExpectFound(
      [](const Program& program, Mapping& mapping, size_t k) {
        Interval& it = mapping.intervals[k];
        const std::vector<AccessIndex> served = Served(program, mapping, it);
        if (served.empty() || it.copy_out_start >= 0) return false;
        const InstructionIndex last_use = program.accesses()[served.back()].instruction;
        if (last_use == it.first || it.copy_in_done >= last_use) return false;
        it.last = last_use - 1;
        return true;
      },
      Rule::kNoInterval);
}

TEST(RandomMappings, MissACopyInThatWasRemoved) {
  ExpectFound(
      [](const Program&, Mapping& mapping, size_t k) {
        Interval& it = mapping.intervals[k];
        if (it.copy_in_start < 0) return false;
        it.copy_in_start = it.copy_in_done = -1;
        return true;
      },
      Rule::kFastMemoryStale);
}

TEST(RandomMappings, MissACopyInThatCameLate) {
  ExpectFound(
      [](const Program& program, Mapping& mapping, size_t k) {
        Interval& it = mapping.intervals[k];
        if (it.copy_in_start < 0 || it.copy_out_start >= 0) return false;
        const std::vector<AccessIndex> served = Served(program, mapping, it);
        const InstructionIndex first_use = program.accesses()[served.front()].instruction;
        if (first_use == it.last) return false;
        it.copy_in_done = first_use + 1;
        return true;
      },
      Rule::kCopyInPending);
}

TEST(RandomMappings, MissAWriteBackThatWasRemoved) {
  ExpectFound(
      [](const Program&, Mapping& mapping, size_t k) {
        Interval& it = mapping.intervals[k];
        if (it.copy_out_start < 0) return false;
        it.copy_out_start = it.copy_out_done = -1;
        return true;
      },
      std::nullopt);
}

TEST(RandomMappings, MissAWriteThatWentToHbm) {
  ExpectFound(
      [](const Program& program, Mapping& mapping, size_t k) {
        const std::vector<AccessIndex> served = Served(program, mapping, mapping.intervals[k]);
        if (served.size() < 2) return false;
        if (program.accesses()[served[0]].kind != AccessKind::kWrite) return false;
        mapping.in_fast_memory[served[0]] = 0;
        return true;
      },
      Rule::kFastMemoryStale);
}

TEST(RandomMappings, MissAnIntervalForAnAccessThatMovedToFastMemory) {
  ExpectFound(
      [](const Program& program, Mapping& mapping, size_t k) {
        const AccessIndex access(k * 7919 % program.access_count());
        if (mapping.in_fast_memory[access]) return false;
        const Access& a = program.accesses()[access];
        for (const Interval& it : mapping.intervals) {
          if (it.buffer == a.buffer && it.first <= a.instruction && a.instruction <= it.last) {
            return false;
          }
        }
        mapping.in_fast_memory[access] = 1;
        return true;
      },
      Rule::kNoInterval);
}

TEST(RandomMappings, FindOffsetsOffTheGridAndOutOfMemory) {
  ExpectFound(
      [](const Program&, Mapping& mapping, size_t k) {
        mapping.intervals[k].offset += 8;
        return true;
      },
      Rule::kAlignment);
  ExpectFound(
      [](const Program&, Mapping& mapping, size_t k) {
        mapping.intervals[k].offset = 1024;
        return true;
      },
      Rule::kCapacity);
}

TEST(RandomMappings, FindAnIntervalMovedOntoItsNeighbour) {
  ExpectFound(
      [](const Program&, Mapping& mapping, size_t k) {
        if (k == 0) return false;
        Interval& it = mapping.intervals[k];
        const Interval& neighbour = mapping.intervals[k - 1];
        // If two intervals share two instructions, it is more than a handover.
        if (neighbour.last <= it.first || it.last == it.first) return false;
        it.offset = neighbour.offset;
        return true;
      },
      Rule::kOverlap);
}

TEST(RandomMappings, FindAGroupMemberMovedAway) {
  ExpectFound(
      [](const Program& program, Mapping& mapping, size_t k) {
        Interval& it = mapping.intervals[k];
        for (const CarriedGroup& group : program.carried_groups()) {
          if (it.buffer != group.root_buffer || it.last != program.loops()[group.loop].end)
            continue;
          it.offset = (it.offset + 512) % 1024;
          return true;
        }
        return false;
      },
      Rule::kCarriedGroupOffset);
}

}  // namespace
}  // namespace mallocmuzero::validate
