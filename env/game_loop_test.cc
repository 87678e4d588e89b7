// Loops, worked through by hand. HBM moves 10 bytes a cycle.

#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using enum Action;
using ::testing::ElementsAre;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using testing::StaysOf;
using testing::Update;
using testing::Write;

constexpr uint32_t kBuffer = 0;
constexpr double kRounding = 1e-12;

// Instruction 0 leaves 300 bytes; the loop of ten passes is 1 to 4: instruction 2 leaves 600, 3
// reads an input of `bytes`.
Program ReadInLoop(int64_t bytes) {
  ProgramBuilder builder;
  builder.AddBuffer(bytes, {.live_in = true});
  builder.AddInstruction(30);
  builder.BeginLoop(10);
  builder.AddInstruction(60);
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  builder.EndLoop();
  return builder.Build();
}

TEST(GameLoop, ACopyBeforeTheLoopServesAllPasses) {
  const Program program = ReadInLoop(288);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.copy_start(), 0);
  EXPECT_NEAR(game.Apply(kCopy), 5.0 * 10 / (30 + 10 * 80), kRounding);
  EXPECT_THAT(StaysOf(game, kBuffer),
              ElementsAre(Interval{.buffer = kBuffer,
                                   .first = 0,
                                   .last = 4,  // the loop's end: the next pass needs it
                                   .copy_in_start = 0,
                                   .copy_in_done = 1}));
}

TEST(GameLoop, ACopyThatDoesNotFitBeforeItIsMadeInEveryPass) {
  const Program program = ReadInLoop(304);  // 300 are left over before the loop
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.copy_start(), 2);
  game.Apply(kCopy);
  EXPECT_THAT(
      StaysOf(game, kBuffer),
      ElementsAre(Interval{
          .buffer = kBuffer, .first = 2, .last = 3, .copy_in_start = 2, .copy_in_done = 3}));
}

TEST(GameLoop, AValueFromOutsideThatIsKeptInsideStaysForTheWholeLoop) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  builder.BeginLoop(10);
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  builder.AddInstruction(20);
  builder.EndLoop();
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_NEAR(game.Apply(kNoCopy), 5.0 * 10 / (10 + 20 + 10 * 40), kRounding);
  EXPECT_EQ(StaysOf(game, kBuffer)[0].last, 5);
}

TEST(GameLoop, AValueThatWouldTakeUpTheWholeLoopMayBeBroughtInAgain) {
  ProgramBuilder builder;
  builder.AddBuffer(304, {.live_in = true});
  builder.AddInstruction(40);
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  builder.BeginLoop(10);
  builder.AddInstruction(60);
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  builder.AddInstruction(20);
  builder.EndLoop();
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kNoCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 3);  // not before the loop: instruction 1 leaves 150 bytes
  game.Apply(kCopy);
  const std::vector<Interval> stays = StaysOf(game, kBuffer);
  ASSERT_EQ(stays.size(), 2);
  EXPECT_EQ(stays[0].last, 1);
  EXPECT_EQ(stays[1].first, 3);
  EXPECT_EQ(stays[1].last, 4);
}

TEST(GameLoop, WhatAPassBringsInIsGoneAfterTheLoop) {
  ProgramBuilder builder;
  builder.AddBuffer(304, {.live_in = true});
  builder.BeginLoop(10);
  builder.AddInstruction(60);
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  builder.EndLoop();
  builder.AddInstruction(20, {Read(kBuffer, 5)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_TRUE(game.finished());  // neither kept nor, for want of bandwidth, brought in
  EXPECT_FALSE(game.InFastMemory(kBuffer));
}

TEST(GameLoop, WriteBacksAreDoneWhereLoopsBeginAndEnd) {
  ProgramBuilder builder;
  builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.BeginLoop(10);
  builder.AddInstruction(20, {Read(kBuffer, 2)});
  builder.EndLoop();
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  // Queued and waited for before the loop, once: 9.6 cycles. Its reads are the first use.
  EXPECT_NEAR(game.Apply(kCopy), (5 - 9.6 + 10 * 2) / 220, kRounding);
  EXPECT_EQ(game.hbm_copy(kBuffer), Game::HbmCopy::kCurrent);

  ProgramBuilder inside;
  inside.AddBuffer(96);
  inside.BeginLoop(10);
  inside.AddInstruction(20, {Write(kBuffer, 5)});
  inside.AddInstruction(5, {Read(kBuffer, 5)});
  inside.EndLoop();
  const Program program_inside = inside.Build();
  const ProgramRules rules_inside = EverythingMatters(program_inside);
  Game game_inside(rules_inside);
  // At the end of the body, in each of ten passes. The read takes no time, in which nothing moves.
  EXPECT_NEAR(game_inside.Apply(kCopy), (5 + 5 - 9.6) * 10 / 250, kRounding);
}

TEST(GameLoop, AnUpdateOfABufferFromOutsideStaysInHbm) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(10);
  builder.BeginLoop(10);
  builder.AddInstruction(20, {Update(kBuffer, 5)});
  builder.EndLoop();
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_TRUE(rules.buffer(kBuffer).stays_in_hbm);
  EXPECT_TRUE(Game(rules).finished());
}

}  // namespace
}  // namespace mallocmuzero
