#include "env/solvers/snapshot_store.h"

#include <cstdint>

#include "base/testing/index_matching.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

class SnapshotStoreTest : public ::testing::Test {
 protected:
  // Plays a game, offers all of it, and drops what is not wanted.
  SnapshotStoreTest() {
    store_.Restart(kGameBytes);
    store_.SetFocus(kFocus, kFocusEnd);
    Game game(rules_);
    while (!game.finished()) {
      const AccessIndex previous = game.access();
      game.Apply(EagerAction(game.legal_actions()));
      store_.Offer(previous, game, 0);
    }
  }

  // Of such games a program of 4000 accesses has a snapshot every sqrt(0.15 x 4000 x 100) = 245
  // accesses: of the places at multiples of 32, one in seven.
  static constexpr size_t kGameBytes = 500'000;
  static constexpr uint32_t kFocus = 2000;
  static constexpr uint32_t kFocusEnd = 2200;

  const Program program_ = testing::LayeredProgram(400);
  const ProgramRules rules_ = testing::EverythingMatters(program_);
  SnapshotStore store_{rules_};
};

TEST_F(SnapshotStoreTest, KeepsMoreSnapshotsWithinTheFocus) {
  const auto distance = [&](AccessIndex access) {
    return access - store_.Before(access).game->access();
  };
  for (AccessIndex access = kFocus; access < kFocusEnd; ++access) {
    EXPECT_LE(store_.Before(access).game->access(), access);
    EXPECT_LT(distance(access), 40);
  }
  EXPECT_GE(store_.Before(1000).game->access(), 28 * 32);  // the first decision from there on
  EXPECT_LT(store_.Before(1000).game->access(), 29 * 32);
  store_.SetFocus(0, 10);
  EXPECT_GT(distance(kFocusEnd), 40);
}

TEST_F(SnapshotStoreTest, AChangeDropsWhatItTouchedAndShiftsWhatFollows) {
  const AccessIndex before = store_.Before(2050).game->access();
  const AccessIndex after = store_.Before(2160).game->access();
  ASSERT_NE(store_.At(after), nullptr);
  store_.Change(2050, after, 3);
  EXPECT_EQ(store_.Before(after - 1).game->access(), before);
  EXPECT_EQ(store_.At(before)->shift, 0);
  EXPECT_EQ(store_.At(after)->shift, 3);
  store_.Change(2000, after, -1);
  EXPECT_EQ(store_.At(after)->shift, 2);
  EXPECT_EQ(store_.At(after + 1), nullptr);
}

TEST_F(SnapshotStoreTest, GoesBackToAMarkWithTheSnapshotsThatAreStillRight) {
  const AccessIndex before = store_.Before(2050).game->access();
  const AccessIndex after = store_.Before(2160).game->access();
  SnapshotStore::Mark mark;
  store_.SetMark(mark);
  const Game dropped = *store_.Before(2100).game;
  store_.Change(2050, after, 3);
  store_.Offer(dropped.access() - 32, dropped, 0);  // as if it were of the changed game
  ASSERT_NE(store_.At(dropped.access()), nullptr);
  store_.GoBackTo(mark);
  EXPECT_EQ(store_.At(dropped.access()), nullptr);
  EXPECT_EQ(store_.Before(after - 1).game->access(), before);
  EXPECT_EQ(store_.At(before)->shift, 0);
  EXPECT_EQ(store_.At(after)->shift, 0);
}

TEST_F(SnapshotStoreTest, SnapshotsOfATrialCountOnceItIsAccepted) {
  store_.Change(0, rules_.end_access(), 0);
  const auto offer_trial = [this] {
    Game game(rules_);
    while (!game.finished()) {
      const AccessIndex previous = game.access();
      game.Apply(EagerAction(game.legal_actions()));
      store_.OfferTrial(previous, game, 5);
    }
  };
  offer_trial();
  store_.DropTrial();
  store_.AcceptTrial();  // of nothing
  EXPECT_EQ(store_.Before(1000).game->access(), store_.Before(1).game->access());
  offer_trial();
  EXPECT_EQ(store_.Before(1000).game->access(), store_.Before(1).game->access());
  store_.AcceptTrial();
  const SnapshotStore::Snapshot& snapshot = store_.Before(1000);
  EXPECT_GE(snapshot.game->access(), 28 * 32);
  EXPECT_EQ(snapshot.shift, 5);
}

}  // namespace
}  // namespace mallocmuzero
