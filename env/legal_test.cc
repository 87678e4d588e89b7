#include "env/legal.h"

#include <cstdint>

#include "base/testing/index_matching.h"
#include "env/testing/games.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using enum Action;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Set;
using testing::Write;

constexpr uint32_t kInput = 0;
constexpr uint32_t kMade = 1;
constexpr uint32_t kOther = 2;

// Values of 320 bytes and 704 bytes of fast memory. Instruction 0 leaves 500 bytes of bandwidth,
// instruction 1 reads the input and makes a value that 2 reads, as it does another input.
Program ReadAndWrite() {
  ProgramBuilder builder;
  builder.hardware().set_fast_memory_bytes(704);
  builder.AddBuffer(320, {.live_in = true});
  builder.AddBuffer(320);
  builder.AddBuffer(320, {.live_in = true});
  builder.AddInstruction(50);
  builder.AddInstruction(100, {Read(kInput, 5), Write(kMade, 5)});
  builder.AddInstruction(100, {Read(kMade, 5), Read(kOther, 5)});
  return builder.Build();
}

class LegalTest : public ::testing::Test {
 protected:
  LegalTest() { state_.timeline.Advance(500); }

  // The state at an access of instruction 1.
  GameState& At(AccessIndex access) {
    state_.access = access;
    state_.instruction = 1;
    return state_;
  }

  const Program program_ = ReadAndWrite();
  const ProgramRules rules_ = EverythingMatters(program_);
  GameState state_{rules_};
};

TEST_F(LegalTest, AReadOfHbmCanCopyWhereBandwidthIsLeft) {
  const Options options = Legal(At(0));
  EXPECT_EQ(options.actions, Set({kCopy, kDrop}));
  EXPECT_EQ(options.copy_in,
            (Options::CopyIn{.start = 0, .done = 1, .until = 1, .loop = ProgramRules::kNone}));
  EXPECT_EQ(options.place, Place{.offset = 0});
}

TEST_F(LegalTest, AReadCannotCopyWithoutAPlace) {
  state_.residency.Add({.buffer = kMade, .last = 2, .reserved = 2, .offset = 0});
  state_.residency.Add({.buffer = kOther, .last = 2, .reserved = 2, .offset = 320});
  EXPECT_EQ(Legal(At(0)).actions, Set({kDrop}));
}

TEST_F(LegalTest, AReadOfAValueThatIsThereNeedNotCopy) {
  state_.residency.Add({.buffer = kInput, .last = 0, .reserved = 0, .offset = 0});
  EXPECT_EQ(Legal(At(0)).actions, Set({kNoCopy, kDrop}));
}

TEST_F(LegalTest, AReadOfAStaleHbmCanOnlyKeepTheValue) {
  state_.residency.Add({.buffer = kInput, .last = 0, .reserved = 1});
  state_.hbm.Mutable(kInput) = HbmValue();
  const Options options = Legal(At(0));
  EXPECT_EQ(options.actions, Set({kNoCopy}));
  EXPECT_EQ(options.keep_until, 1);
}

TEST_F(LegalTest, AWriteCanGoWhereItsLastUseFindsIt) {
  const Options options = Legal(At(1));
  EXPECT_TRUE(Contains(options.actions, kNoCopy));
  EXPECT_TRUE(Contains(options.actions, kDrop));
  EXPECT_EQ(options.keep_until, 2);
  EXPECT_EQ(options.copy_in, Options::CopyIn());
}

TEST_F(LegalTest, AnIntendedActionThatIsLegalNeedsNoOther) {
  EXPECT_EQ(Legal(At(0), kDrop).actions, Set({kDrop}));
  EXPECT_EQ(Legal(At(1), kDrop).actions, Set({kDrop}));
  const Options read = Legal(At(0));
  EXPECT_EQ(Legal(At(0), kCopy), read);
  EXPECT_EQ(Legal(At(0), kNoCopy), read);  // is not legal
  const Options write = Legal(At(1));
  EXPECT_EQ(Legal(At(1), kNoCopy), write);
}

TEST_F(LegalTest, AskingChangesNothing) {
  // 192 free bytes on either side: the copy has a place if this value moves.
  state_.residency.Add({.buffer = kOther, .last = 2, .reserved = 2, .offset = 192});
  const GameState before = At(0);
  const GameState& asked = state_;
  const Options first = Legal(asked);
  ASSERT_NE(first.place.moves, nullptr);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(Legal(asked), first);
  EXPECT_TRUE(asked == before);
}

}  // namespace
}  // namespace mallocmuzero
