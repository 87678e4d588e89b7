// Values that move in fast memory so that another one has a place.

#include <cstdint>

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
using testing::Write;

constexpr BufferIndex kEarly = 0, kLong = 1, kLarge = 2;

// 400 bytes of fast memory. kEarly has 100 of them for instructions 0 and 1, kLong 100 for 0 to 4,
// kLarge 300 for 3 and 4: room for all, if kLong is not in the middle.
Program InTheMiddle(int64_t large_bytes) {
  ProgramBuilder builder;
  builder.hardware().set_fast_memory_bytes(400);
  builder.hardware().set_fast_memory_alignment_bytes(4);
  builder.AddBuffer(100);
  builder.AddBuffer(100);
  builder.AddBuffer(large_bytes);
  builder.AddInstruction(50, {Write(kEarly, 5), Write(kLong, 5)});
  builder.AddInstruction(50, {Read(kEarly, 5)});
  builder.AddInstruction(50);
  builder.AddInstruction(50, {Write(kLarge, 5)});
  builder.AddInstruction(50, {Read(kLong, 5), Read(kLarge, 5)});
  return builder.Build();
}

TEST(GamePlaces, ValuesMoveWhereFreeBytesAreInPieces) {
  const Program program = InTheMiddle(300);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  game.Apply(kNoCopy);
  ASSERT_EQ(game.legal_actions(), Set({kCopy, kNoCopy, kDrop}));
  game.Apply(kNoCopy);
  ASSERT_TRUE(game.finished());
  EXPECT_THAT(StaysOf(game, kEarly), ElementsAre(Interval{.buffer = kEarly, .last = 1}));
  EXPECT_THAT(StaysOf(game, kLong),
              ElementsAre(Interval{.buffer = kLong, .last = 4, .offset = 300}));
  EXPECT_THAT(StaysOf(game, kLarge),
              ElementsAre(Interval{.buffer = kLarge, .first = 3, .last = 4}));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

TEST(GamePlaces, ValuesDoNotMoveForAPlaceThatIsNotTaken) {
  const Program program = InTheMiddle(300);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  game.Apply(kNoCopy);
  ASSERT_EQ(game.legal_actions(), Set({kCopy, kNoCopy, kDrop}));
  game.Apply(kDrop);
  ASSERT_TRUE(game.finished());
  EXPECT_THAT(StaysOf(game, kLong),
              ElementsAre(Interval{.buffer = kLong, .last = 4, .offset = 100}));
}

TEST(GamePlaces, ThereIsNoPlaceWhereTheBytesAreTaken) {
  const Program program = InTheMiddle(304);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  game.Apply(kNoCopy);
  EXPECT_TRUE(game.finished());  // kLarge is in HBM by rule
  EXPECT_THAT(StaysOf(game, kLarge), IsEmpty());
}

// Fast memory for one of two values. The first one is written back behind instruction 1.
TEST(GamePlaces, BytesAreFreeOnceTheirWriteBackIsDone) {
  ProgramBuilder builder;
  builder.hardware().set_fast_memory_bytes(400);
  builder.AddBuffer(400);
  builder.AddBuffer(400);
  builder.AddInstruction(50, {Write(0, 5)});
  builder.AddInstruction(50, {Read(0, 5)});
  builder.AddInstruction(50, {Write(1, 5)});
  builder.AddInstruction(50, {Read(1, 5)});
  builder.AddInstruction(50, {Read(0, 5)});
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  ASSERT_EQ(game.access(), 2);
  ASSERT_TRUE(game.IsLegal(kNoCopy));
  game.Apply(kNoCopy);
  if (!game.finished()) game.Apply(kDrop);
  ASSERT_TRUE(game.finished());
  EXPECT_THAT(game.in_fast_memory(), ElementsAre(1, 1, 1, 1, 0));
  EXPECT_THAT(
      StaysOf(game, BufferIndex(0)),
      ElementsAre(Interval{.buffer = 0, .last = 1, .copy_out_start = 1, .copy_out_done = 2}));
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
