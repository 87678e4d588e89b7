// Values that loops carry, worked through by hand. HBM moves 10 bytes a cycle.

#include <cstdint>
#include <utility>

#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/players.h"
#include "env/testing/games.h"
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
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using ::testing::SizeIs;
using testing::StaysOf;
using testing::Update;
using testing::Write;

constexpr double kRounding = 1e-12;

// 0 writes the initial value; loop 1 to 4 of ten passes, 2 uses the parameter and 3 makes the root;
// 5 reads the result. Each access saves 5 cycles of its 20. A value goes to both memories only for
// a first use: the loop's use of the initial value is none, and the root has none in its pass.
class CarriedGroupTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kInitial = 0;
  static constexpr uint32_t kParameter = 1;
  static constexpr uint32_t kRoot = 2;
  static constexpr uint32_t kResult = 3;
  static constexpr double kAllHbm = 20 + 10 * 40 + 20;

  static Program Replaced(testing::BufferSpec result = {}, bool read_before_loop = false) {
    ProgramBuilder builder;
    for (const uint32_t b : {kInitial, kParameter, kRoot}) EXPECT_EQ(builder.AddBuffer(96), b);
    builder.AddBuffer(96, result);
    builder.AddInstruction(20, {Write(kInitial, 5)});
    if (read_before_loop) builder.AddInstruction(20, {Read(kInitial, 5)});
    const LoopIndex loop = builder.BeginLoop(10);
    builder.AddInstruction(20, {Read(kParameter, 5)});
    builder.AddInstruction(20, {Write(kRoot, 5)});
    builder.EndLoop();
    builder.AddInstruction(20, {Read(kResult, 5)});
    builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
    return builder.Build();
  }

  // The same with a read of the initial value at 1, before loop 2 to 5.
  static Program ReadBeforeTheLoop() { return Replaced({}, /*read_before_loop=*/true); }

  // The root is the parameter, changed in place at 3.
  static Program ChangedInPlace(bool read_before_loop = false) {
    ProgramBuilder builder;
    builder.AddBuffer(96);
    builder.AddBuffer(96);
    const BufferIndex result = builder.AddBuffer(96);
    builder.AddInstruction(20, {Write(kInitial, 5)});
    if (read_before_loop) builder.AddInstruction(20, {Read(kInitial, 5)});
    const LoopIndex loop = builder.BeginLoop(10);
    builder.AddInstruction(20, {Read(kParameter, 5)});
    builder.AddInstruction(20, {Update(kParameter, 5)});
    builder.EndLoop();
    builder.AddInstruction(20, {Read(result, 5)});
    builder.AddCarriedGroup(loop, kInitial, kParameter, kParameter, result);
    return builder.Build();
  }

  static void ExpectValid(const Game& game) {
    EXPECT_THAT(Validate(game.program(), game.ToMapping()), IsEmpty());
  }
};

TEST_F(CarriedGroupTest, InFastMemoryItKeepsOneAddressAllTheWay) {
  const Program program = Replaced();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  EXPECT_NEAR(game.Apply(kNoCopy), (5 + 10 * (5 + 5) + 5) / kAllHbm, kRounding);
  EXPECT_TRUE(game.finished());  // the group follows by rule
  EXPECT_THAT(game.ToMapping().intervals,
              ElementsAre(Interval{.buffer = kInitial, .first = 0, .last = 1},
                          Interval{.buffer = kParameter, .first = 1, .last = 2},
                          Interval{.buffer = kRoot, .first = 3, .last = 4},
                          Interval{.buffer = kResult, .first = 4, .last = 5}));
  ExpectValid(game);
}

TEST_F(CarriedGroupTest, InHbmTheValuePassesThroughHbm) {
  ProgramBuilder builder;
  for (int b = 0; b < 4; ++b) builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(kInitial, 5)});
  const LoopIndex loop = builder.BeginLoop(10);
  builder.AddInstruction(20, {Read(kParameter, 5)});
  builder.AddInstruction(20, {Write(kRoot, 5)});
  builder.AddInstruction(10, {Read(kRoot, 5)});
  builder.EndLoop();
  builder.AddInstruction(20, {Read(kResult, 5)});
  builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  // The parameter's and the result's reads come right after the markers, with no time for copies.
  EXPECT_EQ(program.accesses()[game.access()].buffer, kRoot);
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));  // the next pass needs it in HBM
  game.Apply(kCopy);
  EXPECT_TRUE(game.finished());
  // The root's read takes 5 cycles, beside which 50 of the 96 bytes are written back. The end of
  // the body waits for the other 46, ten times. All in HBM takes 20 + 10 * 50 + 20 cycles.
  EXPECT_NEAR(game.total_return(), 10 * (5 + 5 - 4.6) / 540, kRounding);
  ExpectValid(game);
}

TEST_F(CarriedGroupTest, TheLoopTakesOverAValueThatIsInBothMemories) {
  const Program program = ReadBeforeTheLoop();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  // Written at 0 and read at 1 by rule. Beside 1, of 15 cycles, the 96 bytes are written back.
  EXPECT_NEAR(game.Apply(kCopy), (5 + 5) / (kAllHbm + 20), kRounding);
  EXPECT_EQ(program.accesses()[game.access()].buffer, kParameter);
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  Game dropped = game;
  EXPECT_NEAR(game.Apply(kNoCopy), (10 * (5 + 5) + 5) / (kAllHbm + 20), kRounding);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(StaysOf(game, kParameter),
              ElementsAre(Interval{.buffer = kParameter, .first = 2, .last = 3}));
  ExpectValid(game);
  EXPECT_EQ(dropped.Apply(kDrop), 0);
  EXPECT_TRUE(dropped.finished());
  EXPECT_THAT(StaysOf(dropped, kParameter), IsEmpty());
  ExpectValid(dropped);
}

TEST_F(CarriedGroupTest, ALiveOutResultIsWrittenBackAfterTheLoop) {
  const Program program = Replaced({.live_out = true});
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kNoCopy);
  // The write-back is queued after the loop, just before 5. Reading from fast memory, 5 leaves
  // 15 cycles to it: nothing waits.
  EXPECT_EQ(game.legal_actions(), Set({kNoCopy, kDrop}));
  game.Apply(kNoCopy);
  EXPECT_NEAR(game.total_return(), (5 + 10 * (5 + 5) + 5) / kAllHbm, kRounding);
  EXPECT_THAT(
      StaysOf(game, kResult),
      ElementsAre(Interval{
          .buffer = kResult, .first = 4, .last = 5, .copy_out_start = 5, .copy_out_done = 6}));
  ExpectValid(game);
}

TEST_F(CarriedGroupTest, ChangedInPlaceItStaysInOneInterval) {
  const Program program = ChangedInPlace();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  EXPECT_NEAR(game.Apply(kNoCopy), (5 + 10 * (5 + 5) + 5) / kAllHbm, kRounding);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(StaysOf(game, kParameter),
              ElementsAre(Interval{.buffer = kParameter, .first = 1, .last = 4}));
  ExpectValid(game);
}

TEST_F(CarriedGroupTest, ChangedInPlaceItCanBeTakenOver) {
  const Program program = ChangedInPlace(true);
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  game.Apply(kNoCopy);
  EXPECT_TRUE(game.finished());
  EXPECT_THAT(game.ToMapping().intervals, SizeIs(3));
  ExpectValid(game);
}

TEST_F(CarriedGroupTest, ChangedInPlaceInHbmEachPassWritesItBack) {
  const Program program = ChangedInPlace();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kDrop);
  // Instruction 2 reads 96 of its 200 bytes from HBM and leaves 104: time to bring the value in
  // for the update at 3. The next pass needs it in HBM.
  EXPECT_EQ(game.legal_actions(), Set({kCopy, kDrop}));
  EXPECT_EQ(game.copy_start(), 2);
  EXPECT_NEAR(game.Apply(kCopy), 10 * (5 - 9.6) / kAllHbm, kRounding);
  EXPECT_TRUE(game.finished());
  ExpectValid(game);
}

// Plays some random games and some of each other player.
void ExpectValidGames(const Program& program) {
  const ProgramRules rules = EverythingMatters(program);
  for (const PlayerKind kind : kPlayerKinds) {
    Player player(kind, 1);
    for (int g = 0; g < 60; ++g) {
      player.StartGame();
      Game game(rules);
      while (!game.finished()) game.Apply(player.Choose(game));
      ASSERT_THAT(Validate(program, game.ToMapping()), IsEmpty())
          << PlayerName(kind) << ", game " << g;
    }
  }
}

TEST_F(CarriedGroupTest, APassOfTheLoopAroundFindsTheInitialValueAgain) {
  ProgramBuilder builder;
  for (int b = 0; b < 4; ++b) builder.AddBuffer(96);
  builder.AddInstruction(50, {Write(kInitial, 10)});
  builder.AddInstruction(50, {Read(kInitial, 10)});
  builder.BeginLoop(3);
  const LoopIndex loop = builder.BeginLoop(4);
  builder.AddInstruction(50, {Read(kParameter, 10)});
  builder.AddInstruction(50, {Write(kRoot, 10)});
  builder.EndLoop();
  builder.AddInstruction(50, {Read(kResult, 10)});
  builder.EndLoop();
  builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_EQ(Game(rules).legal_actions(), Set({kCopy, kDrop}));
  ExpectValidGames(program);
}

TEST_F(CarriedGroupTest, AParameterThatIsWrittenFirstTakesNothingOver) {
  ProgramBuilder builder;
  builder.AddBuffer(96, {.live_in = true});
  builder.AddBuffer(96);
  const BufferIndex result = builder.AddBuffer(96);
  builder.AddInstruction(50, {Read(kInitial, 10)});
  const LoopIndex loop = builder.BeginLoop(4);
  builder.AddInstruction(50, {Write(kParameter, 10)});
  builder.AddInstruction(50, {Update(kParameter, 10)});
  builder.EndLoop();
  builder.AddInstruction(50, {Read(result, 10)});
  builder.AddCarriedGroup(loop, kInitial, kParameter, kParameter, result);
  ExpectValidGames(builder.Build());
}

TEST_F(CarriedGroupTest, AnInitialValueThatIsUsedAfterwardsIsInHbmWhenTheLoopBegins) {
  ProgramBuilder builder;
  for (int b = 0; b < 4; ++b) builder.AddBuffer(96);
  builder.AddInstruction(50, {Write(kInitial, 10)});
  const LoopIndex loop = builder.BeginLoop(4);
  builder.AddInstruction(50, {Read(kParameter, 10)});
  builder.AddInstruction(50, {Write(kRoot, 10)});
  builder.EndLoop();
  builder.AddInstruction(50, {Read(kResult, 10)});
  builder.AddInstruction(50, {Update(kInitial, 10)});
  builder.AddInstruction(50, {Write(kInitial, 10)});
  builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  EXPECT_EQ(Game(rules).legal_actions(), Set({kCopy, kDrop}));
  ExpectValidGames(program);
}

TEST_F(CarriedGroupTest, ANestedReadThatTakesOverKeepsTheValueForAllItsPasses) {
  ProgramBuilder builder;
  for (int b = 0; b < 4; ++b) builder.AddBuffer(96);
  builder.AddInstruction(50, {Write(kInitial, 10)});
  builder.AddInstruction(50, {Read(kInitial, 10)});  // the first use, so that it may go to both
  const LoopIndex loop = builder.BeginLoop(4);
  builder.BeginLoop(3);
  builder.AddInstruction(50, {Read(kParameter, 10)});
  builder.AddInstruction(50);
  builder.EndLoop();
  builder.AddInstruction(50, {Write(kRoot, 10)});
  builder.EndLoop();
  builder.AddInstruction(50, {Read(kResult, 10)});
  builder.AddCarriedGroup(loop, kInitial, kParameter, kRoot, kResult);
  v1::Program proto = builder.BuildProto();
  proto.mutable_buffers(kParameter)->set_first(2);  // the parameter lives from the loop's begin
  proto.mutable_buffers(kParameter)->set_last(6);
  SealProgram(proto);
  const Program program = *Program::FromProto(std::move(proto));
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  ASSERT_EQ(program.accesses()[game.access()].buffer, kParameter);
  ASSERT_TRUE(game.IsLegal(kNoCopy));
  game.Apply(kNoCopy);
  while (!game.finished()) game.Apply(EagerAction(game.legal_actions()));
  EXPECT_EQ(StaysOf(game, kParameter)[0].last, 6);
  ExpectValid(game);
  ExpectValidGames(program);
}

// 0 writes a and 1 is its first use. 2 reads it, and a parameter that is live-in, which no compiler
// makes: the group stays in HBM. The wait for the write-back of a, 96 bytes, must not be forgotten
// over that: instruction 1 takes no time, so none of them are moved before 2.
TEST(CarriedGroup, AReadOfALiveInParameterBeforeItsLoopWaitsForNothing) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(96);
  const BufferIndex initial = builder.AddBuffer(96);
  const BufferIndex parameter = builder.AddBuffer(96, {.live_in = true});
  const BufferIndex result = builder.AddBuffer(96);
  builder.AddInstruction(20, {Write(a, 5), Write(initial)});
  builder.AddInstruction(5, {Read(a, 5)});
  builder.AddInstruction(20, {Read(a, 5), Read(parameter)});
  const LoopIndex loop = builder.BeginLoop(10);
  builder.AddInstruction(20, {Read(parameter)});
  builder.EndLoop();
  builder.AddInstruction(20, {Read(result)});
  builder.AddCarriedGroup(loop, initial, parameter, parameter, result);
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Game game(rules);
  game.Apply(kCopy);
  game.Apply(kDrop);
  EXPECT_TRUE(game.finished());
  EXPECT_NEAR(game.total_return(), (5 + 5 - 9.6) / (20 + 5 + 20 + 10 * 20 + 20), kRounding);
  EXPECT_THAT(Validate(program, game.ToMapping()), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
