// Copy, NoCopy and Drop of reads, writes and updates, worked through by hand. HBM moves 10 bytes a
// cycle, so an instruction of c cycles leaves 10 c bytes less what it accesses in HBM.

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
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using testing::StaysOf;
using testing::Update;
using testing::Write;

constexpr uint32_t kBuffer = 0;
constexpr double kRounding = 1e-12;

// Instruction 2 reads an input of `bytes`, instructions 0 and 1 leave 300 and 100 bytes. All in
// HBM takes 30 + 10 + 50 = 90 cycles.
Program ReadAfterTwo(int64_t bytes) {
  ProgramBuilder builder;
  builder.AddBuffer(bytes, {.live_in = true});
  builder.AddInstruction(30);
  builder.AddInstruction(10);
  builder.AddInstruction(50, {Read(kBuffer, 20)});
  return builder.Build();
}

TEST(GameRead, CopyStartsAsLateAsTheBandwidthAllows) {
  const Program program = ReadAfterTwo(200);  // 100 behind instruction 1, 100 behind 0
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 0);
  EXPECT_NEAR(game.Apply(kCopy), 20.0 / 90, kRounding);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(
      StaysOf(game, kBuffer),
      ElementsAre(Interval{
          .buffer = kBuffer, .first = 0, .last = 2, .copy_in_start = 0, .copy_in_done = 2}));
}

TEST(GameRead, CopyOfLessStartsLater) {
  const Program program = ReadAfterTwo(100);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.copy_start(), 1);
  game.Apply(kCopy);
  EXPECT_EQ(StaysOf(game, kBuffer)[0].first, 1);
}

TEST(GameRead, CopyWithoutBandwidthIsIllegal) {
  const Program program = ReadAfterTwo(416);  // 400 are left over
  const ProgramRules rules = EverythingMatters(program);
  const Game game(rules);
  EXPECT_TRUE(game.finished());  // the one legal action was taken by rule
  EXPECT_THAT(game.history(), IsEmpty());
  EXPECT_EQ(game.total_return(), 0);
}

TEST(GameRead, DropLeavesItInHbm) {
  const Program program = ReadAfterTwo(200);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.Apply(kDrop), 0);
  EXPECT_THAT(game.ToMapping().intervals, IsEmpty());
  EXPECT_THAT(game.ToMapping().in_fast_memory, ElementsAre(0));
}

// Read at 1 and at 3.
Program TwoReads() {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(20, {Read(kBuffer, 8)});
  builder.AddInstruction(10);
  builder.AddInstruction(20, {Read(kBuffer, 9)});
  return builder.Build();
}

TEST(GameRead, NoCopyKeepsTheValueSinceItsLastUse) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  // A value that can be kept need not be copied in again.
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  EXPECT_NEAR(game.Apply(kNoCopy), 9.0 / 60, kRounding);
  EXPECT_THAT(
      StaysOf(game, kBuffer),
      ElementsAre(Interval{
          .buffer = kBuffer, .first = 0, .last = 3, .copy_in_start = 0, .copy_in_done = 1}));
}

TEST(GameRead, NoCopyNeedsTheValueInFastMemory) {
  const Program program = TwoReads();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
}

TEST(GameRead, AValueIsLostWhenAnotherTakesItsBytes) {
  ProgramBuilder builder;
  builder.AddBuffer(1024, {.live_in = true});
  const BufferIndex other = builder.AddBuffer(16, {.live_in = true});
  builder.AddInstruction(200);
  builder.AddInstruction(200, {Read(kBuffer, 8)});
  builder.AddInstruction(200);
  builder.AddInstruction(200, {Read(other, 1)});
  builder.AddInstruction(200, {Read(kBuffer, 8)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  Game lost = game;
  EXPECT_EQ(lost.copy_start(), 2);  // the bytes are taken up to instruction 1
  lost.Apply(kCopy);
  EXPECT_FALSE(lost.InFastMemory(kBuffer));
  EXPECT_TRUE(lost.finished());  // neither kept nor brought in: the other has bytes of it
  game.Apply(kDrop);
  EXPECT_TRUE(game.InFastMemory(kBuffer));
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
}

// Instruction 0 writes 96 bytes, instruction 1 takes `between` cycles, instruction 2 reads them.
Program WriteAndRead(double between, testing::BufferSpec spec = {}) {
  ProgramBuilder builder;
  builder.AddBuffer(96, spec);
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.AddInstruction(between);
  builder.AddInstruction(20, {Read(kBuffer, 7)});
  return builder.Build();
}

TEST(GameWrite, NoCopyKeepsTheOnlyCopyUntilItsLastUse) {
  const Program program = WriteAndRead(10);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kNoCopy, kDrop}));
  // The read has one legal action: its saving counts for this decision.
  EXPECT_NEAR(game.Apply(kNoCopy), (5.0 + 7.0) / 50, kRounding);
  EXPECT_TRUE(game.finished());
  EXPECT_EQ(game.hbm_copy(kBuffer), Game::HbmCopy::kStale);
  EXPECT_THAT(StaysOf(game, kBuffer),
              ElementsAre(Interval{.buffer = kBuffer, .first = 0, .last = 2}));
}

// Instruction 0 writes 96 bytes. Instruction 1 is their first use, which takes no time in fast
// memory. Instruction 2 takes `between` cycles, instruction 3 reads the bytes again.
Program WriteAndTwoReads(double between) {
  ProgramBuilder builder;
  builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.AddInstruction(5, {Read(kBuffer, 5)});
  builder.AddInstruction(between);
  builder.AddInstruction(20, {Read(kBuffer, 7)});
  return builder.Build();
}

TEST(GameWrite, CopyWritesBackBehindTheProgram) {
  const Program program = WriteAndTwoReads(10);  // instruction 2 leaves 100 bytes for 96
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_NEAR(game.Apply(kCopy), (5.0 + 5.0) / 55, kRounding);
  EXPECT_EQ(game.hbm_copy(kBuffer), Game::HbmCopy::kCurrent);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));  // no time left to bring it in
  EXPECT_EQ(game.Apply(kDrop), 0);
  EXPECT_THAT(StaysOf(game, kBuffer),
              ElementsAre(Interval{.buffer = kBuffer,
                                   .first = 0,
                                   .last = 2,  // the copy is done just before 3
                                   .copy_out_start = 1,
                                   .copy_out_done = 3}));
}

TEST(GameWrite, DropOfAReadWaitsForTheWriteBack) {
  const Program program = WriteAndTwoReads(5);  // 46 of the 96 bytes are left at 3
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_EQ(game.hbm_copy(kBuffer), Game::HbmCopy::kPending);
  EXPECT_NEAR(game.Apply(kDrop), -4.6 / 50, kRounding);
}

TEST(GameWrite, DropWritesToHbm) {
  const Program program = WriteAndRead(10);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.Apply(kDrop), 0);
  EXPECT_EQ(game.hbm_copy(kBuffer), Game::HbmCopy::kCurrent);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 1);  // HBM has the value from then on
}

TEST(GameWrite, ALiveOutMustReachHbm) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_out = true});
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.AddInstruction(4, {Read(kBuffer, 2)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  // 20 bytes move beside instruction 1, the program's end waits for 76.
  EXPECT_NEAR(game.Apply(kCopy), (5 + 2 - 7.6) / 24, kRounding);
  EXPECT_EQ(StaysOf(game, kBuffer)[0].copy_out_done, 2);
}

TEST(GameWrite, ANewValueWaitsForTheOldOneToReachHbm) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_out = true});
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.AddInstruction(4, {Read(kBuffer, 2)});
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  // 20 of the 96 bytes move beside instruction 1. The last write has no use: it is dropped by rule
  // and waits for 76.
  EXPECT_NEAR(game.Apply(kCopy), (5 + 2 - 7.6) / 44, kRounding);
  EXPECT_TRUE(game.finished());
}

// Instruction 0 writes 96 bytes, 1 updates them, `between` cycles pass, 3 reads them.
Program WriteUpdateRead(double between) {
  ProgramBuilder builder;
  builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.AddInstruction(20, {Update(kBuffer, 6)});
  builder.AddInstruction(between);
  builder.AddInstruction(20, {Read(kBuffer, 7)});
  return builder.Build();
}

TEST(GameUpdate, KeepsOneSpaceAndAddress) {
  const Program program = WriteUpdateRead(10);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  // HBM has no copy, so it cannot be dropped; it can be written back, or stay up to the read.
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kNoCopy}));
  EXPECT_NEAR(game.Apply(kNoCopy), (6.0 + 7.0) / 70, kRounding);
  EXPECT_THAT(StaysOf(game, kBuffer),
              ElementsAre(Interval{.buffer = kBuffer, .first = 0, .last = 3}));
}

TEST(GameUpdate, CopyWritesTheNewValueBack) {
  const Program program = WriteUpdateRead(10);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  EXPECT_NEAR(game.Apply(kCopy), 6.0 / 70, kRounding);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kNoCopy);
  EXPECT_THAT(
      StaysOf(game, kBuffer),
      ElementsAre(Interval{
          .buffer = kBuffer, .first = 0, .last = 3, .copy_out_start = 2, .copy_out_done = 3}));
}

// The same with the first use of the written bytes before the update: instruction 1 reads them,
// which takes no time in fast memory. 2 updates them, 3 takes 10 cycles, 4 reads them.
Program WriteReadUpdateRead() {
  ProgramBuilder builder;
  builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(kBuffer, 5)});
  builder.AddInstruction(5, {Read(kBuffer, 5)});
  builder.AddInstruction(20, {Update(kBuffer, 6)});
  builder.AddInstruction(10);
  builder.AddInstruction(20, {Read(kBuffer, 7)});
  return builder.Build();
}

TEST(GameUpdate, WaitsForTheOldValueToReachHbm) {
  const Program program = WriteReadUpdateRead();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  // Queued at 1, needed at 2, and instruction 1 moves nothing: all 96 bytes are waited for. Then
  // the read by rule.
  EXPECT_NEAR(game.Apply(kNoCopy), (6 - 9.6 + 7) / 75, kRounding);
  EXPECT_THAT(
      StaysOf(game, kBuffer),
      ElementsAre(Interval{
          .buffer = kBuffer, .first = 0, .last = 4, .copy_out_start = 1, .copy_out_done = 2}));
}

TEST(GameUpdate, DropUpdatesHbmAfterTheWriteBack) {
  const Program program = WriteReadUpdateRead();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  EXPECT_NEAR(game.Apply(kDrop), -9.6 / 75, kRounding);
  EXPECT_FALSE(game.InFastMemory(kBuffer));
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 3);
}

TEST(GameUpdate, CopyBringsInWhatIsNotThereAndWritesItBack) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true, .live_out = true});
  builder.AddInstruction(10);
  builder.AddInstruction(20, {Update(kBuffer, 6)});
  builder.AddInstruction(10);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_NEAR(game.Apply(kCopy), 6.0 / 40, kRounding);
  EXPECT_THAT(StaysOf(game, kBuffer), ElementsAre(Interval{.buffer = kBuffer,
                                                           .first = 0,
                                                           .last = 2,
                                                           .copy_in_start = 0,
                                                           .copy_in_done = 1,
                                                           .copy_out_start = 2,
                                                           .copy_out_done = 3}));
}

}  // namespace
}  // namespace mallocmuzero
