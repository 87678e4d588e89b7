// Accesses with one legal action, cross-program prefetches, and snapshots of games.

#include "env/game.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/players.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using enum Action;
using ::testing::ElementsAre;
using testing::EverythingMatters;
using ::testing::IsEmpty;
using testing::LayeredProgram;
using testing::ProgramBuilder;
using testing::RandomGameProgram;
using testing::Read;
using testing::Set;
using testing::StaysOf;
using testing::Write;

constexpr uint32_t kBuffer = 0;

TEST(Game, DecidesNothingAboutWhatCannotMatter) {
  ProgramBuilder builder;
  const BufferIndex useful = builder.AddBuffer(96, {.live_in = true});
  const BufferIndex useless = builder.AddBuffer(96, {.live_in = true});
  const BufferIndex pinned = builder.AddBuffer(96, {.live_in = true, .pinned_to_hbm = true});
  const BufferIndex huge = builder.AddBuffer(1040, {.live_in = true});
  builder.AddInstruction(200);
  builder.AddInstruction(300, {Read(useless), Read(pinned, 5), Read(huge, 5), Read(useful, 5)});
  const Program program = builder.Build();
  const ProgramRules rules = ProgramRules::Create(program);
  Game game(rules);
  EXPECT_EQ(program.accesses()[game.access()].buffer, useful);
  game.Apply(kCopy);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(0, 0, 0, 1));
}

TEST(Game, AThresholdSaysWhatMatters) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(90);
  builder.AddInstruction(10, {Read(kBuffer, 2)});  // 2 of 100 cycles
  const Program program = builder.Build();
  const ProgramRules all = ProgramRules::Create(program, {.negligible_share = 0.019});
  EXPECT_FALSE(Game(all).finished());
  const ProgramRules few = ProgramRules::Create(program, {.negligible_share = 0.021});
  EXPECT_TRUE(Game(few).finished());
}

TEST(Game, RewardsOfStepsByRuleBelongToTheDecisionBefore) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(value, 5)});
  builder.AddInstruction(20, {Read(value, 3)});
  builder.AddInstruction(20, {Read(value, 2)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.initial_return(), 0);
  EXPECT_DOUBLE_EQ(game.Apply(kNoCopy), 10.0 / 60);
  EXPECT_THAT(game.history(), ElementsAre(kNoCopy));
  EXPECT_DOUBLE_EQ(game.total_return(), 10.0 / 60);
  EXPECT_EQ(game.cycles(), 50);
  EXPECT_EQ(game.legal_actions(), 0);
}

TEST(Game, InstructionsMayBeSlowerFromFastMemory) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(20);
  builder.AddInstruction(20, {Read(kBuffer, -4)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_DOUBLE_EQ(game.Apply(kCopy), -4.0 / 40);
}

// The program with a baseline that has buffer 0 in fast memory from the start up to `last`, for the
// accesses whose flags are set.
Program WithPrefetch(const ProgramBuilder& builder, InstructionIndex last,
                     const std::vector<bool>& used) {
  v1::Program program = builder.BuildProto();
  v1::Mapping& mapping = *program.mutable_baseline()->mutable_mapping();
  for (const bool fast : used) mapping.add_in_fast_memory(fast);
  v1::Interval& interval = *mapping.add_intervals();
  interval.set_last(last.number());
  interval.set_cross_program_prefetch(true);
  SealProgram(program);
  return *Program::FromProto(std::move(program));
}

// Reads of an input at 1, 3 and 5.
Program ReadsWithPrefetch() {
  ProgramBuilder builder;
  builder.AddBuffer(512, {.live_in = true});
  for (int k = 0; k < 3; ++k) {
    builder.AddInstruction(100);
    builder.AddInstruction(100, {Read(kBuffer, 5)});
  }
  return WithPrefetch(builder, 3, {true, true, false});
}

TEST(Game, TheCrossProgramPrefetchIsNotOursToMove) {
  const Program program = ReadsWithPrefetch();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_DOUBLE_EQ(game.initial_return(), 10.0 / 600);  // two reads by rule, and no copy
  EXPECT_EQ(program.accesses()[game.access()].instruction, 5);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kDrop);
  EXPECT_THAT(StaysOf(game, kBuffer),
              ElementsAre(Interval{
                  .buffer = kBuffer, .first = 0, .last = 3, .cross_program_prefetch = true}));
}

TEST(Game, AnotherCopyDoesNotStandInForThePrefetch) {
  ProgramBuilder builder;
  builder.AddBuffer(512, {.live_in = true});
  builder.AddInstruction(100);
  builder.BeginLoop(2);
  builder.AddInstruction(100, {Read(kBuffer, 5)});
  builder.EndLoop();
  const InstructionIndex last = builder.AddInstruction(100, {Read(kBuffer, 5)});
  // The read in the loop does without the prefetch at offset 0: it may bring the value to 512.
  const Program program = WithPrefetch(builder, last, {false, true});
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  ASSERT_TRUE(game.IsLegal(kCopy));
  game.Apply(kCopy);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));  // not by rule: this is no prefetch
  game.Apply(kNoCopy);
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

// Nothing checks the live ranges of a baseline.
TEST(Game, ThePrefetchEndsWithTheLiveRange) {
  ProgramBuilder builder;
  builder.AddBuffer(512, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(kBuffer, 5)});
  const InstructionIndex end = builder.AddInstruction(100);
  const Program program = WithPrefetch(builder, end, {true});
  const ProgramRules rules = EverythingMatters(program);
  const Game game(rules);
  ASSERT_TRUE(game.finished());
  EXPECT_THAT(StaysOf(game, kBuffer),
              ElementsAre(Interval{
                  .buffer = kBuffer, .first = 0, .last = 1, .cross_program_prefetch = true}));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(Game, NothingIsPlacedOnThePrefetch) {
  const Program program = ReadsWithPrefetch();
  const ProgramRules rules = EverythingMatters(program);
  const Game game(rules);
  EXPECT_EQ(game.fast_memory().At(0).last, 3);
  EXPECT_TRUE(game.InFastMemory(kBuffer));
}

TEST(Game, AProgramWithoutAccessesIsFinishedAtOnce) {
  ProgramBuilder builder;
  builder.AddInstruction(10);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  const Game game(rules);
  EXPECT_TRUE(game.finished());
  EXPECT_EQ(game.total_return(), 0);
  EXPECT_THAT(game.ToMapping().intervals, IsEmpty());
}

TEST(Game, AProgramThatTakesNoTimeCannotSaveAny) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(0);
  builder.AddInstruction(0, {Read(kBuffer)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_EQ(Game(rules).total_return(), 0);
}

std::vector<Action> RandomGame(const ProgramRules& rules, uint64_t seed) {
  Player player(PlayerKind::kRandom, seed);
  Game game(rules);
  while (!game.finished()) game.Apply(player.Choose(game));
  return {game.history().begin(), game.history().end()};
}

// All public facts of a game, bit for bit.
void ExpectSame(const Game& a, const Game& b) {
  ASSERT_EQ(a.access(), b.access());
  ASSERT_EQ(a.legal_actions(), b.legal_actions());
  ASSERT_EQ(a.cycles(), b.cycles());
  ASSERT_EQ(a.copy_start(), b.copy_start());
  ASSERT_EQ(a.history(), b.history());
  ASSERT_EQ(a.in_fast_memory().elements(), b.in_fast_memory().elements());
  ASSERT_EQ(a.fast_memory().regions(), b.fast_memory().regions());
  if (!a.finished()) return;
  ASSERT_EQ(a.ToMapping(), b.ToMapping());
}

TEST(Game, TheSameActionsGiveTheSameGame) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomGameProgram(random);
    const ProgramRules rules = EverythingMatters(program);
    const std::vector<Action> actions = RandomGame(rules, seed);
    Game one(rules);
    Game other(rules);
    for (const Action action : actions) {
      ASSERT_EQ(one.Apply(action), other.Apply(action));
      ExpectSame(one, other);
    }
    ASSERT_TRUE(one.finished());
  }
}

// A snapshot is a copy, and assigning it goes back. Decisions in between must leave no trace.
void ExpectSnapshotsHold(const ProgramRules& rules, size_t stride, uint64_t seed) {
  const std::vector<Action> actions = RandomGame(rules, seed);
  Game whole(rules);
  for (const Action action : actions) whole.Apply(action);
  Game game(rules);
  Player distraction(PlayerKind::kRandom, seed + 1);
  for (size_t from = 0; from < actions.size(); from += stride) {
    const Game snapshot = game;
    while (!game.finished()) game.Apply(distraction.Choose(game));
    game = snapshot;
    ExpectSame(game, snapshot);
    for (size_t k = from; k < actions.size(); ++k) game.Apply(actions[k]);
    ExpectSame(game, whole);
    if (::testing::Test::HasFatalFailure()) return;
    game = snapshot;
    const size_t next = std::min(from + stride, actions.size());
    for (size_t k = from; k < next; ++k) game.Apply(actions[k]);
  }
}

TEST(Game, GoingBackToASnapshotOfAnyDecisionLeavesNoTrace) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Program program = RandomGameProgram(random);
    ExpectSnapshotsHold(EverythingMatters(program), 1, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Game, GoingBackToASnapshotOfALongGameLeavesNoTrace) {
  const Program program = LayeredProgram(200);
  ExpectSnapshotsHold(EverythingMatters(program), 97, 1);
}

TEST(Game, NoDecisionLeadsIntoADeadEnd) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = RandomGameProgram(random);
    const ProgramRules rules = EverythingMatters(program);
    for (const PlayerKind kind : kPlayerKinds) {
      Player player(kind, seed);
      player.StartGame();
      Game game(rules);
      while (!game.finished()) {
        ASSERT_GE(CountOf(game.legal_actions()), 2);
        ASSERT_LT(game.legal_actions(), 1 << kActionCount);
        const AccessIndex access = game.access();
        game.Apply(player.Choose(game));
        ASSERT_GT(game.access(), access);
      }
    }
  }
}

TEST(Game, SaysHowMuchMemoryItTakes) {
  const Program program = LayeredProgram(2000);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  while (!game.finished()) game.Apply(EagerAction(game.legal_actions()));
  // Its points alone: a state and three numbers each, two numbers of the tree.
  EXPECT_GT(game.MemoryBytes(), program.instruction_count() * 64);
  EXPECT_LT(game.MemoryBytes(), program.instruction_count() * 1024);
  EXPECT_LT(game.CopyBytes(), game.MemoryBytes() / 2);
}

}  // namespace
}  // namespace mallocmuzero
