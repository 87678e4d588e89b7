#include "env/residency.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/testing/games.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::EverythingMatters;
using ::testing::IsEmpty;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

constexpr int32_t kForever = Residency::kForever;

// Four values of 100 bytes, one of 200 and one of 300. Instruction i makes value i; all are read by
// the last instruction. 400 bytes of fast memory.
class ResidencyTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kTwice = 4;
  static constexpr uint32_t kThrice = 5;

  static Program MakeProgram() {
    ProgramBuilder builder;
    builder.hardware().set_fast_memory_bytes(400);
    builder.hardware().set_fast_memory_alignment_bytes(4);
    for (const int64_t bytes : {100, 100, 100, 100, 200, 300}) builder.AddBuffer(bytes);
    for (BufferIndex b = 0; b <= kThrice; ++b) builder.AddInstruction(50, {Write(b, 5)});
    builder.AddInstruction(
        50, {Read(0, 5), Read(1, 5), Read(2, 5), Read(3, 5), Read(kTwice, 5), Read(kThrice, 5)});
    return builder.Build();
  }

  static Stay StayAt(BufferIndex buffer, InstructionIndex first, InstructionIndex last,
                     int64_t offset) {
    return {.buffer = buffer, .first = first, .last = last, .reserved = last, .offset = offset};
  }

  // A place for the value of the buffer, from its first write to `until`.
  std::optional<Place> FindPlace(BufferIndex buffer, InstructionIndex until) const {
    const AccessIndex access = program_.AccessesOfBuffer(buffer)[0];
    return residency_.FindPlace({.bytes = rules_.buffer(buffer).bytes,
                                 .first = program_.accesses()[access].instruction,
                                 .until = until},
                                access);
  }

  const Program program_ = MakeProgram();
  const ProgramRules rules_ = EverythingMatters(program_);
  Residency residency_{rules_};
};

TEST_F(ResidencyTest, AStayHoldsItsValueUntilItEnds) {
  EXPECT_FALSE(residency_.Holds(0));
  EXPECT_THAT(residency_.Add(StayAt(0, 0, 3, 100)), IsEmpty());
  ASSERT_TRUE(residency_.Holds(0));
  EXPECT_EQ(residency_.Current(0).offset, 100);
  EXPECT_EQ(residency_.memory().At(100).last, 3);
  EXPECT_THAT(residency_.End(0, 2), IsEmpty());
  EXPECT_FALSE(residency_.Holds(0));
  EXPECT_EQ(residency_.memory().At(100).last, 3);  // the last use still needs the bytes
}

TEST_F(ResidencyTest, AStayLosesItsValueToOneThatTakesItsBytes) {
  residency_.Add(StayAt(0, 0, 1, 0));
  residency_.Add(StayAt(1, 1, 1, 100));
  residency_.Add(StayAt(kTwice, 4, 6, 0));
  EXPECT_FALSE(residency_.Holds(0));
  EXPECT_FALSE(residency_.Holds(1));
  EXPECT_TRUE(residency_.Holds(kTwice));
}

TEST_F(ResidencyTest, ARunningWriteBackTakesTheBytes) {
  residency_.Add(StayAt(0, 0, 0, 0));
  residency_.SetWriteBack(0, 7);
  EXPECT_EQ(residency_.memory().At(0).last, kForever);
  residency_.SettleWriteBack(0, 2, 3);
  EXPECT_EQ(residency_.memory().At(0).last, 2);
  residency_.SettleWriteBack(0, kForever, 3);  // a copy that was put in delays it again
  EXPECT_EQ(residency_.memory().At(0).last, kForever);
}

TEST_F(ResidencyTest, BytesThatAreTakenFixTheWriteBackOfTheValueThatIsLost) {
  residency_.Add(StayAt(0, 0, 0, 0));
  residency_.SetWriteBack(0, 7);
  residency_.SettleWriteBack(0, 2, 3);
  EXPECT_THAT(residency_.Add(StayAt(kTwice, 4, 6, 0)), ElementsAre(FixedWriteBack{7, 4}));
}

TEST_F(ResidencyTest, AStayThatHasEndedFixesItsWriteBackOnceThatIsDone) {
  residency_.Add(StayAt(0, 0, 0, 0));
  residency_.SetWriteBack(0, 7);
  EXPECT_THAT(residency_.End(0, 2), IsEmpty());
  EXPECT_THAT(residency_.SettleWriteBack(0, 3, 4), ElementsAre(FixedWriteBack{7, 4}));
  EXPECT_EQ(residency_.memory().At(0).last, 3);
}

TEST_F(ResidencyTest, AStayThatEndsWithoutAWriteBackNeedsItsBytesUpToItsLastUse) {
  residency_.Add(StayAt(0, 0, 1, 0));
  residency_.Extend(0, 1, 6);
  EXPECT_EQ(residency_.memory().At(0).last, 6);
  EXPECT_THAT(residency_.End(0, 5), IsEmpty());
  EXPECT_EQ(residency_.memory().At(0).last, 1);
}

TEST_F(ResidencyTest, APlaceInScatteredBytesNamesTheMovesThatMakeIt) {
  residency_.Add(StayAt(0, 0, 6, 100));
  const Residency before = residency_;
  const std::optional<Place> place = FindPlace(kThrice, 6);
  ASSERT_TRUE(place.has_value());
  ASSERT_NE(place->moves, nullptr);
  EXPECT_EQ(residency_, before);  // nothing moves until the place is made
  EXPECT_THAT(residency_.MakePlace(*place), IsEmpty());
  EXPECT_EQ(place->offset, 0);
  EXPECT_EQ(residency_.Current(0).offset, 300);
  EXPECT_EQ(residency_.memory().At(300).last, 6);
}

TEST_F(ResidencyTest, APlaceNextToTakenBytesNeedsNoMoves) {
  residency_.Add(StayAt(0, 0, 6, 0));
  const std::optional<Place> place = FindPlace(kThrice, 6);
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(*place, Place{.offset = 100});
}

TEST_F(ResidencyTest, ThereIsNoPlaceWithoutEnoughBytes) {
  residency_.Add(StayAt(0, 0, 6, 0));
  residency_.Add(StayAt(1, 1, 6, 100));
  EXPECT_EQ(FindPlace(kThrice, 6), std::nullopt);
}

TEST_F(ResidencyTest, LeavingALoopEndsTheStaysOfItsPasses) {
  ProgramBuilder builder;
  builder.AddBuffer(64, {.live_in = true});
  builder.AddBuffer(64);
  builder.AddInstruction(50, {Read(0, 5)});
  builder.BeginLoop(3);
  builder.AddInstruction(50, {Read(0, 5), Write(1, 5)});
  builder.EndLoop();
  const Program program = builder.Build();
  const ProgramRules rules = EverythingMatters(program);
  Residency residency(rules);
  residency.Add(StayAt(0, 0, 3, 0));  // of the whole program
  residency.EnterLoop();
  Stay inside = StayAt(1, 2, 2, 64);
  inside.loop = 0;
  residency.Add(inside);
  residency.LeaveLoop(0, 3);
  EXPECT_TRUE(residency.Holds(0));
  EXPECT_FALSE(residency.Holds(1));
}

}  // namespace
}  // namespace mallocmuzero
