// Buffers on which asynchronous collectives work. HBM moves 10 bytes a cycle, so an instruction of
// c cycles leaves 10 c bytes less what it accesses in HBM.

#include <vector>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using enum Action;
using ::testing::ElementsAre;
using testing::EverythingMatters;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using testing::StaysOf;
using testing::Update;
using testing::Write;

constexpr uint32_t kArray = 0;

// The result of a collective from 1 to 3, of 200 bytes, read by 5. Instruction 4 leaves ten times
// `cycles_after_done` bytes.
Program Result(double cycles_after_done) {
  ProgramBuilder builder;
  builder.AddBuffer(200);
  builder.AddInstruction(100);
  builder.AddInstruction(50, {Write(kArray)});
  builder.AddInstruction(50, {Update(kArray)});
  builder.AddInstruction(50, {Update(kArray)});
  builder.AddInstruction(cycles_after_done);
  builder.AddInstruction(50, {Read(kArray, 20)});
  return builder.AddCollective(1, 3, 10, {kArray}).Build();
}

TEST(GameFlight, AResultMayBeInFastMemoryFromTheStartOn) {
  const Program program = Result(100);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));  // a write-back would be in flight
  game.Apply(kNoCopy);
  EXPECT_EQ(game.access(), 2);  // the update between is where the start is
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kCopy}));
  game.Apply(kNoCopy);
  ASSERT_TRUE(game.finished());
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(StaysOf(game, kArray),
              ElementsAre(Interval{.buffer = kArray, .first = 1, .last = 5}));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(GameFlight, AResultMayBeWrittenBackAfterTheDone) {
  const Program program = Result(100);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  game.Apply(kCopy);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kDrop);
  EXPECT_THAT(
      StaysOf(game, kArray),
      ElementsAre(Interval{
          .buffer = kArray, .first = 1, .last = 4, .copy_out_start = 4, .copy_out_done = 5}));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(GameFlight, AResultInHbmMayBeCopiedInAfterTheDone) {
  const Program program = Result(100);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  EXPECT_EQ(game.access(), 3);  // the accesses in flight follow the start
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 4);
  game.Apply(kCopy);
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(GameFlight, NoCopyOfAResultStartsInFlight) {
  const Program program = Result(10);  // leaves 100 of the 200 bytes
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  EXPECT_TRUE(game.finished());
}

// An operand of a collective from 2 to 4, of 200 bytes. Instruction 1 leaves 100 bytes.
Program Operand() {
  ProgramBuilder builder;
  builder.AddBuffer(200);
  builder.AddInstruction(50, {Write(kArray, 5)});
  builder.AddInstruction(10);
  builder.AddInstruction(50, {Read(kArray)});
  builder.AddInstruction(50);
  builder.AddInstruction(50, {Read(kArray)});
  return builder.AddCollective(2, 4, 10, {kArray}).Build();
}

TEST(GameFlight, AnOperandStaysUpToTheDone) {
  const Program program = Operand();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kCopy, kDrop}));
  game.Apply(kNoCopy);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(StaysOf(game, kArray),
              ElementsAre(Interval{.buffer = kArray, .first = 0, .last = 4}));
}

TEST(GameFlight, AStartWaitsForTheWriteBackOfItsOperand) {
  const Program program = Operand();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_TRUE(game.finished());  // the first use of the value is from fast memory
  EXPECT_THAT(
      StaysOf(game, kArray),
      ElementsAre(Interval{
          .buffer = kArray, .first = 0, .last = 4, .copy_out_start = 1, .copy_out_done = 2}));
  EXPECT_EQ(game.timeline().stall_cycles(), 10);  // for the other 100 bytes
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

// An input that 1 reads, that a collective from 2 to 4 reads, 3 besides, and then 6.
Program Input() {
  ProgramBuilder builder;
  builder.AddBuffer(200, {.live_in = true});
  builder.AddInstruction(100);
  for (int i = 0; i < 4; ++i) builder.AddInstruction(100, {Read(kArray, 5)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(kArray, 5)});
  return builder.AddCollective(2, 4, 10, {kArray}).Build();
}

TEST(GameFlight, AllAccessesOfAFlightUseTheMemoryOfTheStart) {
  const Program program = Input();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  EXPECT_EQ(game.access(), 1);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  game.Apply(kCopy);
  EXPECT_EQ(game.access(), 4);  // that of instruction 6
  game.Apply(kDrop);
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(StaysOf(game, kArray),
              ElementsAre(Interval{
                  .buffer = kArray, .first = 1, .last = 4, .copy_in_start = 1, .copy_in_done = 2}));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(GameFlight, AStartThatUsesHbmEndsTheStay) {
  const Program program = Input();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kDrop);
  EXPECT_EQ(game.access(), 4);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 5);  // after the done
  game.Apply(kCopy);
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(1, 0, 0, 0, 1));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

// An array that 0 writes, a collective from 2 to 4 reads and `update` updates in flight. It must
// reach HBM.
Program UpdatedOperand(uint32_t update) {
  ProgramBuilder builder;
  builder.AddBuffer(200, {.live_out = true});
  builder.AddInstruction(100, {Write(kArray, 5)});
  builder.AddInstruction(100);
  builder.AddInstruction(100, {Read(kArray, 5)});
  for (const uint32_t at : {3, 4}) {
    if (at == update) {
      builder.AddInstruction(100, {Update(kArray, 5)});
    } else {
      builder.AddInstruction(100);
    }
  }
  return builder.AddCollective(2, 4, 10, {kArray}).Build();
}

// The write-back of the write must not take away that of the update.
TEST(GameFlight, AnOperandThatTheDoneUpdatesIsWrittenBackOnce) {
  const Program program = UpdatedOperand(4);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kNoCopy);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(1, 1, 1));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(GameFlight, AnOperandIsInHbmIfNoAccessCanWriteBackWhatAnUpdateMakesInFlight) {
  const Program program = UpdatedOperand(3);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(0, 0, 0));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

// The same if a read before the start has used the value.
TEST(GameFlight, AStartMayUseHbmAfterAWriteBackIfItCannotUseFastMemory) {
  for (const uint32_t update : {4, 5}) {
    ProgramBuilder builder;
    builder.AddBuffer(200, {.live_out = true});
    builder.AddInstruction(100, {Write(kArray, 5)});
    builder.AddInstruction(100, {Read(kArray, 5)});
    builder.AddInstruction(100);
    builder.AddInstruction(100, {Read(kArray, 5)});
    for (const uint32_t at : {4, 5}) {
      if (at == update) {
        builder.AddInstruction(100, {Update(kArray, 5)});
      } else {
        builder.AddInstruction(100);
      }
    }
    const Program program = builder.AddCollective(3, 5, 10, {kArray}).Build();
    const ProgramRules rules = EverythingMatters(program);
    Game game(rules);
    ASSERT_TRUE(game.IsLegal(kCopy));
    game.Apply(kCopy);
    const bool may_copy = update == 5;  // the done can write back what a copy has brought in
    EXPECT_EQ(game.finished(), !may_copy);
    if (may_copy) {
      EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
      game.Apply(kCopy);
      EXPECT_THAT(game.in_fast_memory(), ElementsAre(1, 1, 1, 1));
    } else {
      EXPECT_THAT(game.in_fast_memory(), ElementsAre(1, 1, 0, 0));
    }
    EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
  }
}

TEST(GameFlight, ABufferThatIsWrittenInFlightStaysInHbm) {
  ProgramBuilder builder;
  builder.AddBuffer(200);
  builder.AddInstruction(50, {Write(kArray, 5)});
  builder.AddInstruction(50, {Write(kArray, 5)});
  builder.AddInstruction(50, {Read(kArray, 5)});
  const Program program = builder.AddCollective(0, 2, 10, {kArray}).Build();
  EXPECT_TRUE(EverythingMatters(program).buffer(kArray).stays_in_hbm);
}

}  // namespace
}  // namespace mallocmuzero
