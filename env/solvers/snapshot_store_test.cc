#include "env/solvers/snapshot_store.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/testing/index_matching.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

class SnapshotStoreTest : public ::testing::Test {
 protected:
  // Plays a game and offers all of it.
  SnapshotStoreTest() {
    store_.Restart(kCopyBytes, SnapshotStore::Use::kParts);
    OfferGame();
  }

  static constexpr size_t kCopyBytes = 10'000;  // few enough for a snapshot every 32 accesses
  static constexpr size_t kManyBytes = 2'000'000;

  // The most accesses between an access and the last snapshot before.
  int32_t MostDistance() const {
    int32_t most = 0;
    for (AccessIndex access = 0; access < rules_.end_access(); ++access) {
      most = std::max(most, access - store_.Before(access).game->access());
    }
    return most;
  }

  void OfferGame() {
    Game game(rules_);
    while (!game.finished()) {
      const AccessIndex previous = game.access();
      game.Apply(EagerAction(game.legal_actions()));
      store_.Offer(previous, game, 0);
    }
  }

  const Program program_ = testing::LayeredProgram(400);
  const ProgramRules rules_ = testing::EverythingMatters(program_);
  SnapshotStore store_{rules_};
};

TEST_F(SnapshotStoreTest, HasASnapshotShortlyBeforeEachAccess) {
  EXPECT_GE(MostDistance(), 31);
  EXPECT_LT(MostDistance(), 40);
}

TEST_F(SnapshotStoreTest, HasFewerSnapshotsOfLargerGames) {
  store_.Restart(kManyBytes, SnapshotStore::Use::kParts);  // 4000 x 2 MB / 64 MB = 119
  OfferGame();
  EXPECT_GE(MostDistance(), 118);
  EXPECT_LT(MostDistance(), 130);
  store_.Restart(kManyBytes, SnapshotStore::Use::kWholeGames);  // sqrt(0.15 x 4000 x 100) = 245
  OfferGame();
  EXPECT_GE(MostDistance(), 244);
  EXPECT_LT(MostDistance(), 256);
}

TEST_F(SnapshotStoreTest, KnowsWhereItLacksASnapshot) {
  EXPECT_EQ(store_.NextEmpty(100, 3000), 3000);
  store_.Change(2050, 2160, 0);
  // Places are at multiples of 32. The game of place 2048 is at access 2048 or a little later.
  const AccessIndex empty = store_.NextEmpty(100, 3000);
  EXPECT_GE(empty, 2048);
  EXPECT_LE(empty, 2080);
  EXPECT_EQ(empty.number() % 32, 0);
  EXPECT_EQ(store_.NextEmpty(100, empty + 1), empty);
  EXPECT_EQ(store_.NextEmpty(100, empty), empty);
  EXPECT_EQ(store_.NextEmpty(100, empty - 1), empty - 1);
  EXPECT_EQ(store_.NextEmpty(2200, 3000), 3000);
}

TEST_F(SnapshotStoreTest, FollowingAPlanFromPlaceToPlaceOffersTheSameGames) {
  Plan plan(rules_.access_count(), Action::kDrop);
  for (AccessIndex a = 0; a < rules_.end_access(); a += 3) plan[a] = Action::kNoCopy;
  const auto restart = [this] { store_.Restart(kCopyBytes, SnapshotStore::Use::kParts); };
  restart();
  std::vector<std::pair<AccessIndex, double>> expected;
  for (Game game(rules_); !game.finished();) {
    const AccessIndex previous = game.access();
    game.Apply(Choose(plan[previous], game.legal_actions()));
    store_.Offer(previous, game, 0);
    if (store_.At(game.access()) != nullptr) expected.emplace_back(game.access(), game.cycles());
  }
  restart();
  std::vector<std::pair<AccessIndex, double>> found;
  for (Game game(rules_); !game.finished();) {
    const AccessIndex previous = game.access();
    game.Follow(plan, store_.NextEmpty(previous, rules_.end_access()), [] { return false; });
    store_.Offer(previous, game, 0);
    if (store_.At(game.access()) != nullptr) found.emplace_back(game.access(), game.cycles());
  }
  EXPECT_EQ(found, expected);
  EXPECT_GE(found.size(), 100);
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

TEST_F(SnapshotStoreTest, KeepsSnapshotsOfWhatHasNotChangedSinceTheMark) {
  const Game early = *store_.Before(1000).game;
  const Game late = *store_.Before(3000).game;
  store_.Change(0, rules_.end_access(), 0);
  SnapshotStore::Mark mark;
  store_.SetMark(mark);
  store_.Offer(early.access() - 32, early, 0);
  store_.Offer(late.access() - 32, late, 0);
  store_.Change(2000, 2100, 4);
  store_.GoBackTo(mark);
  EXPECT_NE(store_.At(early.access()), nullptr);
  EXPECT_EQ(store_.At(late.access()), nullptr);
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
  EXPECT_GE(snapshot.game->access(), 31 * 32);
  EXPECT_EQ(snapshot.shift, 5);
}

}  // namespace
}  // namespace mallocmuzero
