#include "actor/exploration.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "env/action.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

constexpr int32_t kToTheEnd = std::numeric_limits<int32_t>::max();
constexpr ActionSet kAll = SetOf(Action::kCopy) | SetOf(Action::kNoCopy) | SetOf(Action::kDrop);

// A program of `accesses` accesses, each of another buffer.
Program ManyBuffers(uint32_t accesses) {
  ProgramBuilder builder;
  for (uint32_t k = 0; k < accesses; ++k) {
    builder.AddInstruction(10, {Read(builder.AddBuffer(100, {.live_in = true}), 1)});
  }
  return builder.Build();
}

// A program with one buffer, written at accesses 0 and `accesses` / 2 and read at all others.
Program OneBuffer(uint32_t accesses) {
  ProgramBuilder builder;
  const BufferIndex buffer = builder.AddBuffer(100);
  for (uint32_t k = 0; k < accesses; ++k) {
    const bool is_written = k % (accesses / 2) == 0;
    builder.AddInstruction(10, {is_written ? Write(buffer, 1) : Read(buffer, 1)});
  }
  return builder.Build();
}

// How each access of a game is explored.
std::vector<ExplorationKind> KindsOf(const Program& program, float rate, AccessIndex until,
                                     uint64_t seed) {
  Exploration exploration(program, rate, until, seed);
  std::vector<ExplorationKind> kinds;
  for (const AccessIndex a : program.accesses().indices()) {
    kinds.push_back(exploration.Next(a));
    if (kinds.back() == ExplorationKind::kAction) exploration.Act(a, kAll);
  }
  return kinds;
}

TEST(Exploration, AtRateZeroExploresNothing) {
  const Program program = ManyBuffers(50);
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (const ExplorationKind kind : KindsOf(program, 0, kToTheEnd, seed)) {
      ASSERT_EQ(kind, ExplorationKind::kNone);
    }
  }
}

TEST(Exploration, ExploresAtItsRateAndEveryAccessAlike) {
  constexpr uint32_t kAccesses = 200;
  constexpr int kGames = 20'000;
  const Program program = ManyBuffers(kAccesses);
  std::vector<int> explored(kAccesses);
  int actions = 0;
  int all = 0;
  for (uint64_t seed = 0; seed < kGames; ++seed) {
    const std::vector<ExplorationKind> game = KindsOf(program, 4.0F / kAccesses, kToTheEnd, seed);
    for (uint32_t a = 0; a < kAccesses; ++a) {
      explored[a] += game[a] != ExplorationKind::kNone;
      actions += game[a] == ExplorationKind::kAction;
    }
  }
  for (const int count : explored) {
    all += count;
    // About 400 games are expected to explore each access.
    EXPECT_GE(count, 250);
    EXPECT_LE(count, 550);
  }
  EXPECT_NEAR(all / double{kGames}, 4, 0.4);
  EXPECT_NEAR(actions / double{kGames}, 2, 0.2);
}

TEST(Exploration, HalfIsNoiseThoughMoreIsToBeExploredThanThereIs) {
  constexpr uint32_t kAccesses = 4;
  const Program program = ManyBuffers(kAccesses);
  int actions = 0;
  int noise = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    // Twice as many decisions as the game has.
    for (const ExplorationKind kind : KindsOf(program, 2, kToTheEnd, seed)) {
      actions += kind == ExplorationKind::kAction;
      noise += kind == ExplorationKind::kNoise;
    }
  }
  EXPECT_GT(noise, 10'000);
  EXPECT_NEAR(actions / static_cast<double>(actions + noise), 0.5, 0.02);
}

TEST(Exploration, ExploresNeighbours) {
  constexpr uint32_t kAccesses = 200;
  const Program program = ManyBuffers(kAccesses);
  int pairs = 0;
  int near = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::vector<ExplorationKind> game = KindsOf(program, 4.0F / kAccesses, kToTheEnd, seed);
    for (int32_t a = 0, last = kToTheEnd; a < kAccesses; ++a) {
      if (game[a] == ExplorationKind::kNone) continue;
      if (last != kToTheEnd) {
        ++pairs;
        near += a - last <= 5;
      }
      last = a;
    }
  }
  // If explored accesses were independent, about a tenth of the pairs would be this close.
  EXPECT_GE(near, pairs / 2);
}

TEST(Exploration, SomeActionsHoldUntilTheValueIsWrittenAnew) {
  constexpr uint32_t kAccesses = 20;
  const Program program = OneBuffer(kAccesses);
  int held = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Exploration exploration(program, 0.1F, kToTheEnd, seed);
    int same = 0;  // explored actions at successive accesses that choose the same memory
    bool was_fast = false;
    for (AccessIndex a = 0; a < kAccesses; ++a) {
      if (a == kAccesses / 2) same = 0;
      if (exploration.Next(a) != ExplorationKind::kAction) {
        same = 0;
        continue;
      }
      const bool is_fast = exploration.Act(a, kAll) != Action::kDrop;
      same = same > 0 && is_fast == was_fast ? same + 1 : 1;
      was_fast = is_fast;
      // Without holding an action, six in a row would be very rare.
      held += same == 6;
    }
  }
  EXPECT_GE(held, 100);
}

TEST(Exploration, WhatIsHeldEndsWithTheValueThoughTheNextWriteIsNoDecision) {
  constexpr int32_t kAccesses = 20;
  const Program program = OneBuffer(kAccesses);
  // The number of games that explore the access behind the second write by any action. It would be
  // three times as high if what is held from before that write counted.
  const auto count = [&](bool write_is_decision) {
    int found = 0;
    for (uint64_t seed = 0; seed < 5000; ++seed) {
      Exploration exploration(program, 0.1F, kToTheEnd, seed);
      for (AccessIndex a = 0; a <= kAccesses / 2 + 1; ++a) {
        if (a == kAccesses / 2 && !write_is_decision) continue;
        const bool acts = exploration.Next(a) == ExplorationKind::kAction;
        if (acts) exploration.Act(a, kAll);
        found += acts && a == kAccesses / 2 + 1;
      }
    }
    return found;
  };
  const int behind_decision = count(true);
  EXPECT_GT(behind_decision, 100);
  EXPECT_LE(count(false), behind_decision);
}

TEST(Exploration, WhatIsHeldDoesNotCountAtTheWriteItself) {
  constexpr int32_t kWrite = 10;
  const Program program = OneBuffer(2 * kWrite);
  int holding = 0;  // games whose five accesses before the write repeat an action
  int acts = 0;     // those of them that explore the write by any action
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Exploration exploration(program, 0.1F, kToTheEnd, seed);
    int in_a_row = 0;
    for (AccessIndex a = 0; a < kWrite; ++a) {
      const bool is_action = exploration.Next(a) == ExplorationKind::kAction;
      if (is_action) exploration.Act(a, kAll);
      in_a_row = is_action ? in_a_row + 1 : 0;
    }
    if (in_a_row < 5) continue;
    ++holding;
    acts += exploration.Next(kWrite) == ExplorationKind::kAction;
  }
  EXPECT_GT(holding, 100);
  EXPECT_LT(acts, holding / 2);
}

TEST(Exploration, ACopyIsFollowedByKeepingTheValue) {
  constexpr int32_t kWrite = 10;
  const Program program = OneBuffer(2 * kWrite);
  int kept = 0;
  int copied = 0;
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    Exploration exploration(program, 0.1F, kToTheEnd, seed);
    int in_a_row = 0;
    Action last = Action::kDrop;
    for (AccessIndex a = 0; a < kWrite; ++a) {
      const bool is_action = exploration.Next(a) == ExplorationKind::kAction;
      if (is_action) last = exploration.Act(a, kAll);
      in_a_row = is_action ? in_a_row + 1 : 0;
    }
    if (in_a_row < 5) continue;  // the last of five has repeated what is held
    kept += last == Action::kNoCopy;
    copied += last == Action::kCopy;
  }
  EXPECT_GT(kept, 100);
  EXPECT_LT(copied, kept / 10);
}

TEST(Exploration, WhatIsHeldButIllegalIsReplacedByTheNearest) {
  const Program program = OneBuffer(20);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Exploration exploration(program, 0.5F, kToTheEnd, seed);
    for (const AccessIndex a : program.accesses().indices()) {
      if (exploration.Next(a) != ExplorationKind::kAction) continue;
      const ActionSet legal = a.number() % 3 == 0 ? SetOf(Action::kDrop) : SetOf(Action::kCopy);
      EXPECT_TRUE(Contains(legal, exploration.Act(a, legal)));
    }
  }
}

TEST(Exploration, EndsWhereItIsTold) {
  const Program program = OneBuffer(20);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<ExplorationKind> game = KindsOf(program, 1, 7, seed);
    for (size_t a = 7; a < game.size(); ++a) ASSERT_EQ(game[a], ExplorationKind::kNone);
  }
}

}  // namespace
}  // namespace mallocmuzero
