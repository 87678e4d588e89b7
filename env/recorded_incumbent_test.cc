#include "env/recorded_incumbent.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::SizeIs;

using Flags = IndexVector<AccessIndex, uint8_t>;

TEST(RecordedIncumbent, TheLowestBitOfAByteIsFirst) {
  const Flags flags = {1, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  EXPECT_EQ(FastMemoryBits(flags), std::string({'\x09', '\x02'}));
}

TEST(RecordedIncumbent, ShowsWhatWasRecorded) {
  std::mt19937_64 random(1);
  for (size_t accesses = 0; accesses < 20; ++accesses) {
    Flags flags;
    for (size_t a = 0; a < accesses; ++a) flags.push_back(random() % 2);
    v1::Trajectory game;
    game.mutable_incumbent()->set_in_fast_memory(FastMemoryBits(flags));
    game.mutable_incumbent()->set_window_end(7);
    game.mutable_incumbent()->add_leads(0.5F);
    game.mutable_incumbent()->add_leads(-0.25F);
    EXPECT_THAT(game.incumbent().in_fast_memory(), SizeIs(FastMemoryBytes(accesses)));
    RecordedIncumbent recorded(game, accesses);
    EXPECT_EQ(recorded.At(0)->lead, 0.5);
    const ShownIncumbent* const shown = recorded.At(1);
    EXPECT_EQ(shown->lead, -0.25);
    EXPECT_EQ(shown->window_end, AccessIndex(7));
    ASSERT_THAT(shown->in_fast_memory, SizeIs(accesses));
    for (const AccessIndex a : flags.indices()) EXPECT_EQ(shown->in_fast_memory[a], flags[a]);
  }
}

TEST(RecordedIncumbent, IsNoneIfNoneWasShown) {
  EXPECT_EQ(RecordedIncumbent(v1::Trajectory(), 3).At(0), nullptr);
}

}  // namespace
}  // namespace mallocmuzero
