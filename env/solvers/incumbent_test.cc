#include "env/solvers/incumbent.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAreArray;

constexpr Action kActions[] = {Action::kCopy, Action::kNoCopy, Action::kDrop};
constexpr double kAnything = std::numeric_limits<double>::infinity();

Action AnyAction(std::mt19937_64& random) { return kActions[random() % std::size(kActions)]; }

// Up to three accesses, ascending.
std::vector<PlanChange> AnyChanges(uint32_t accesses, std::mt19937_64& random) {
  std::vector<AccessIndex> places(1 + random() % 3);
  for (AccessIndex& place : places) place = AccessIndex(random() % accesses);
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::vector<PlanChange> changes;
  for (const AccessIndex place : places) {
    changes.push_back({.access = place, .action = AnyAction(random)});
  }
  return changes;
}

Plan AnyPlan(uint32_t accesses, std::mt19937_64& random) {
  Plan plan(accesses);
  for (Action& action : plan) action = AnyAction(random);
  return plan;
}

Plan Changed(Plan plan, const std::vector<PlanChange>& changes) {
  for (const PlanChange& change : changes) plan[change.access] = change.action;
  return plan;
}

Game GameOf(const ProgramRules& rules, const Plan& plan) {
  Game game(rules);
  PlayPlan(plan, game);
  return game;
}

// What it says of the incumbent is what its plan plays from the beginning.
void ExpectIsPlanPlayed(const ProgramRules& rules, const Incumbent& incumbent) {
  const Game game = GameOf(rules, incumbent.plan());
  ASSERT_DOUBLE_EQ(incumbent.cycles(), game.cycles());
  ASSERT_THAT(incumbent.in_fast_memory(), ElementsAreArray(game.in_fast_memory()));
}

TEST(Incumbent, IsAtAnyTimeWhatItsPlanPlaysFromTheBeginning) {
  uint64_t accepted = 0;
  uint64_t refused = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = testing::EverythingMatters(program);
    if (rules.access_count() == 0) continue;
    Incumbent incumbent(rules);
    incumbent.Reset(AnyPlan(rules.access_count(), random));
    for (int k = 0; k < 60; ++k) {
      const Plan before = incumbent.plan();
      const double cycles = incumbent.cycles();
      const uint64_t version = incumbent.version();
      const std::vector<PlanChange> changes = AnyChanges(rules.access_count(), random);
      const double limit = random() % 2 == 0 ? cycles : cycles * 1.05;
      incumbent.Try(changes, limit, Incumbent::Never);
      ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent)) << "seed " << seed;
      ASSERT_LE(incumbent.cycles(), limit);
      const Plan changed = Changed(before, changes);
      if (incumbent.version() != version) {
        ++accepted;
        ASSERT_EQ(incumbent.plan(), changed);
      } else if (incumbent.plan() != changed) {
        ++refused;
        ASSERT_EQ(incumbent.plan(), before);
        ASSERT_EQ(incumbent.cycles(), cycles);
      }
    }
  }
  EXPECT_GE(accepted, 100);
  EXPECT_GE(refused, 100);
}

TEST(Incumbent, TakesWhateverIsPlayedIfThereIsNoLimit) {
  for (uint64_t seed = 100; seed < 120; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = testing::EverythingMatters(program);
    if (rules.access_count() == 0) continue;
    Incumbent incumbent(rules);
    incumbent.Reset(Plan(rules.access_count(), Action::kDrop));
    Plan expected = incumbent.plan();
    for (int k = 0; k < 30; ++k) {
      const std::vector<PlanChange> changes = AnyChanges(rules.access_count(), random);
      expected = Changed(expected, changes);
      incumbent.Try(changes, kAnything, Incumbent::Never);
      ASSERT_EQ(incumbent.plan(), expected);
      ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent)) << "seed " << seed;
    }
  }
}

// Five changes close together, whatever they cost.
void ChangeAWindow(const ProgramRules& rules, Incumbent& incumbent, std::mt19937_64& random) {
  const AccessIndex first(random() % (rules.access_count() - 100));
  for (int t = 0; t < 5; ++t) {
    incumbent.Try({{.access = first + random() % 60, .action = AnyAction(random)}}, kAnything,
                  Incumbent::Never);
  }
}

TEST(Incumbent, ConfirmedAfterTriesThatAssumeRestsItIsWhatItsPlanPlays) {
  const Program program = testing::LayeredProgram(60);
  const ProgramRules rules = testing::EverythingMatters(program);
  std::mt19937_64 random(1);
  Incumbent incumbent(rules);
  incumbent.Reset(AnyPlan(rules.access_count(), random));
  incumbent.AssumeRests();
  int assumed = 0;
  int right = 0;
  for (int k = 0; k < 200; ++k) {
    const AccessIndex first(random() % (rules.access_count() - 100));
    for (int t = 0; t < 5; ++t) {
      const AccessIndex access = first + random() % 60;
      incumbent.Try({{.access = access, .action = AnyAction(random)}}, incumbent.cycles(),
                    Incumbent::Never);
    }
    const double cycles = incumbent.cycles();
    const bool is_exact = incumbent.is_exact();
    incumbent.Confirm();
    ASSERT_TRUE(incumbent.is_exact());
    ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent));
    if (is_exact) {
      ASSERT_DOUBLE_EQ(incumbent.cycles(), cycles);
    } else {
      ++assumed;
      if (std::abs(incumbent.cycles() - cycles) <= 1e-9 * cycles) ++right;
    }
  }
  EXPECT_GE(assumed, 20);
  EXPECT_GE(right, assumed * 9 / 10);
}

TEST(Incumbent, GoesBackToAPlanAfterTriesThatAssumeRests) {
  const Program program = testing::LayeredProgram(60);
  const ProgramRules rules = testing::EverythingMatters(program);
  std::mt19937_64 random(2);
  Incumbent incumbent(rules);
  const Plan plan = AnyPlan(rules.access_count(), random);
  incumbent.Reset(plan);
  incumbent.AssumeRests();
  const double cycles = incumbent.cycles();
  for (int k = 0; k < 50; ++k) {
    ChangeAWindow(rules, incumbent, random);
    incumbent.Reset(plan);
    ASSERT_EQ(incumbent.cycles(), cycles);
    ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent));
  }
}

// Everything that an incumbent says, for comparisons.
struct Said {
  explicit Said(const Incumbent& incumbent)
      : plan(incumbent.plan()),
        cycles(incumbent.cycles()),
        is_exact(incumbent.is_exact()),
        fast(incumbent.in_fast_memory().begin(), incumbent.in_fast_memory().end()) {}

  friend bool operator==(const Said&, const Said&) = default;

  Plan plan;
  double cycles;
  bool is_exact;
  std::vector<uint8_t> fast;
};

TEST(Incumbent, GoesBackToAMarkWhateverHasHappenedSince) {
  const Program program = testing::LayeredProgram(60);
  const ProgramRules rules = testing::EverythingMatters(program);
  std::mt19937_64 random(3);
  Incumbent incumbent(rules);
  incumbent.Reset(AnyPlan(rules.access_count(), random));
  incumbent.AssumeRests();
  const auto change_window = [&] { ChangeAWindow(rules, incumbent, random); };
  int assumed = 0;
  for (int k = 0; k < 60; ++k) {
    Incumbent::Mark exact;
    incumbent.SaveTo(exact);
    const Said at_exact(incumbent);
    change_window();
    Incumbent::Mark later;
    incumbent.SaveTo(later);
    const Said at_later(incumbent);
    if (!incumbent.is_exact()) ++assumed;
    change_window();
    if (k % 3 == 0) incumbent.Confirm();
    incumbent.GoBackTo(later);
    ASSERT_EQ(Said(incumbent), at_later);
    change_window();
    incumbent.GoBackTo(exact);
    ASSERT_EQ(Said(incumbent), at_exact);
    // The snapshots that are left must be those of the incumbent's game.
    change_window();
    incumbent.Confirm();
    ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent)) << "round " << k;
  }
  EXPECT_GE(assumed, 20);
}

TEST(Incumbent, AGameThatIsGivenUpChangesNothing) {
  const Program program = testing::LayeredProgram(60);
  const ProgramRules rules = testing::EverythingMatters(program);
  std::mt19937_64 random(5);
  Incumbent incumbent(rules);
  incumbent.Reset(AnyPlan(rules.access_count(), random));
  incumbent.AssumeRests();
  int given_up = 0;
  for (int k = 0; k < 100; ++k) {
    const Said before(incumbent);
    const std::vector<PlanChange> changes = AnyChanges(rules.access_count(), random);
    uint64_t left = random() % 20;
    bool gave_up = false;
    incumbent.Try(changes, kAnything, [&] {
      gave_up = left-- == 0;
      return gave_up;
    });
    if (!gave_up) continue;
    ++given_up;
    ASSERT_EQ(Said(incumbent), before);
  }
  EXPECT_GE(given_up, 20);
  incumbent.Confirm();
  ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent));
}

TEST(Incumbent, AGameToTheEndFromBeforeAllThatWasAssumedIsExact) {
  const Program program = testing::LayeredProgram(60);
  const ProgramRules rules = testing::EverythingMatters(program);
  std::mt19937_64 random(4);
  Incumbent incumbent(rules);
  incumbent.Reset(Plan(rules.access_count(), Action::kDrop));
  incumbent.AssumeRests();
  int exact_again = 0;
  for (int k = 0; k < 100; ++k) {
    const AccessIndex first(100 + random() % (rules.access_count() - 200));
    for (int t = 0; t < 5; ++t) {
      incumbent.Try({{.access = first + random() % 60, .action = AnyAction(random)}}, kAnything,
                    Incumbent::Never);
    }
    const bool was_exact = incumbent.is_exact();
    const AccessIndex last = rules.end_access() - 1;
    incumbent.Try({{.access = first - 100, .action = AnyAction(random)},
                   {.access = last, .action = AnyAction(random)}},
                  kAnything, Incumbent::Never);
    if (!incumbent.is_exact()) continue;
    if (!was_exact) ++exact_again;
    ASSERT_NO_FATAL_FAILURE(ExpectIsPlanPlayed(rules, incumbent)) << "round " << k;
  }
  EXPECT_GE(exact_again, 10);
}

TEST(Incumbent, ChangesWithoutEffectPlayNothing) {
  testing::ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(2048);  // more than there is
  builder.AddInstruction(50, {testing::Write(value, 5)});
  builder.AddInstruction(50, {testing::Read(value, 5)});
  const Program program = builder.Build();
  const ProgramRules rules = testing::EverythingMatters(program);
  Incumbent incumbent(rules);
  incumbent.Reset(Plan(rules.access_count(), Action::kDrop));
  const uint64_t version = incumbent.version();
  const std::vector<PlanChange> changes = {{.access = 0, .action = Action::kNoCopy}};
  EXPECT_FALSE(incumbent.Try(changes, kAnything, Incumbent::Never));
  EXPECT_EQ(incumbent.version(), version);
  EXPECT_EQ(incumbent.plan()[0], Action::kNoCopy);
  EXPECT_FALSE(incumbent.IsFast(0));
}

}  // namespace
}  // namespace mallocmuzero
