#include "replay/trajectory_buffer.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

v1::ReplayOptions Options() {
  v1::ReplayOptions options;
  options.set_max_decisions(100);
  options.set_max_bytes(1 << 20);
  options.set_best_games(2);
  options.set_priority_exponent(1);
  options.set_importance_exponent(1);
  return options;
}

// A game of `length` decisions whose return is `value`.
v1::Trajectory MakeGame(int id, int length, double value, const std::string& program = "p") {
  v1::Trajectory game;
  game.set_id(absl::StrCat("game ", id));
  game.set_program_sha256(program);
  // Other ids give other decisions.
  for (int i = 0; i < length; ++i) {
    game.mutable_actions()->push_back(id >> i % 7 & 1);
    game.add_rewards(i == 0 ? value : 0);
  }
  return game;
}

// Takes the game by move, as the recorder of games does, so that its repeated fields keep their
// spare capacity.
SharedTrajectory Shared(v1::Trajectory game) {
  return std::make_shared<const v1::Trajectory>(std::move(game));
}

// Copies of the games as a file gives them: serialized and parsed.
std::vector<SharedTrajectory> Parsed(const std::vector<SharedTrajectory>& games) {
  std::vector<SharedTrajectory> parsed;
  for (const SharedTrajectory& game : games) {
    v1::Trajectory copy;
    EXPECT_TRUE(copy.ParseFromString(game->SerializeAsString()));
    parsed.push_back(Shared(std::move(copy)));
  }
  return parsed;
}

TEST(TrajectoryBuffer, AnIdIsTakenOnce) {
  TrajectoryBuffer buffer(Options());
  EXPECT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0.5))));
  EXPECT_FALSE(buffer.Insert(Shared(MakeGame(1, 10, 0.5))));
  EXPECT_EQ(buffer.games(), 1);
  EXPECT_EQ(buffer.decisions(), 10);
}

TEST(TrajectoryBuffer, TheOldestLeavesForTheNewest) {
  TrajectoryBuffer buffer(Options());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 30, 0))));
  // A buffer of 100 decisions has room for three games of 30.
  ASSERT_EQ(buffer.games(), 3);
  EXPECT_EQ(buffer.game(0)->id(), "game 2");
  EXPECT_EQ(buffer.decisions(), 90);
  // A game that has left may be inserted again.
  EXPECT_TRUE(buffer.Insert(Shared(MakeGame(0, 30, 0))));
}

TEST(TrajectoryBuffer, BytesAreBoundedToo) {
  v1::ReplayOptions options = Options();
  const uint64_t bytes = MakeGame(1, 10, 0).ByteSizeLong();
  options.set_max_bytes(2 * bytes);
  TrajectoryBuffer exact(options);
  for (int id = 1; id <= 2; ++id) ASSERT_TRUE(exact.Insert(Shared(MakeGame(id, 10, 0))));
  EXPECT_EQ(exact.bytes(), 2 * bytes);
  options.set_max_bytes(static_cast<uint64_t>(2.5 * static_cast<double>(bytes)));
  TrajectoryBuffer buffer(options);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 10, 0))));
  EXPECT_EQ(buffer.games(), 2);
  EXPECT_LE(buffer.bytes(), options.max_bytes());
}

TEST(TrajectoryBuffer, AGameAboveTheBoundsIsRefused) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0))));
  EXPECT_FALSE(buffer.Insert(Shared(MakeGame(2, 101, 0))));
  EXPECT_EQ(buffer.games(), 1);
}

// The chi-square statistic of 200 bins (199 degrees of freedom) has the 0.999 quantile 267.5.
TEST(TrajectoryBuffer, DrawsFollowPriorities) {
  v1::ReplayOptions options = Options();
  options.set_max_decisions(230);
  options.set_priority_exponent(0.6F);
  TrajectoryBuffer buffer(options);
  std::mt19937_64 random(3);
  // Five of the nine games leave again, so that slots wrap around.
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 50, 0))));
  ASSERT_EQ(buffer.games(), 4);
  std::vector<double> expected(200);
  double sum = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    const double priority = 0.1 + static_cast<double>(random() % 1000) / 100;
    buffer.SetPriority({buffer.serial(i / 50), i % 50}, priority);
    expected[i] = std::pow(priority, 0.6F);
    sum += expected[i];
  }
  constexpr int kDraws = 200'000;
  std::vector<int> seen(200);
  for (const DrawnPosition& drawn : buffer.Draw(kDraws, random)) {
    const size_t index = (drawn.serial - buffer.serial(0)) * 50 + drawn.position;
    ASSERT_LT(index, seen.size());
    ++seen[index];
    EXPECT_NEAR(drawn.probability, expected[index] / sum, 1e-12);
    EXPECT_EQ(drawn.trajectory, buffer.game(index / 50));
  }
  double chi_square = 0;
  for (size_t i = 0; i < seen.size(); ++i) {
    const double mean = kDraws * expected[i] / sum;
    chi_square += (seen[i] - mean) * (seen[i] - mean) / mean;
  }
  EXPECT_LT(chi_square, 267.5);
}

TEST(TrajectoryBuffer, NewPositionsEnterWithTheHighestPriority) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0))));
  buffer.SetPriority({0, 4}, 7);
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(2, 10, 0))));
  EXPECT_EQ(buffer.priority({1, 0}), 7);
}

TEST(OwnDecisions, AreThoseOfTheWindowOrAll) {
  v1::Trajectory game = MakeGame(1, 50, 0);
  EXPECT_EQ(OwnDecisions(game), 50);
  game.mutable_window();
  EXPECT_EQ(OwnDecisions(game), 0);
  game.mutable_window()->set_begin(20);
  game.mutable_window()->set_end(23);
  EXPECT_EQ(OwnDecisions(game), 3);
}

TEST(TrajectoryBuffer, SurprisesOfLongAgoDoNotRaiseNewPositions) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0))));
  buffer.SetPriority({0, 4}, 1000);
  for (int i = 0; i < 200'000; ++i) buffer.SetPriority({0, static_cast<uint32_t>(i % 4)}, 0.5);
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(2, 10, 0))));
  EXPECT_NEAR(buffer.priority({1, 0}), 0.5, 0.01);
}

TEST(TrajectoryBuffer, APriorityForAGameThatHasLeftChangesNothing) {
  TrajectoryBuffer buffer(Options());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 30, 0))));
  buffer.SetPriority({0, 3}, 1000);
  for (uint64_t serial = 2; serial < 5; ++serial) {
    for (uint32_t i = 0; i < 30; ++i) EXPECT_EQ(buffer.priority({serial, i}), 1);
  }
  EXPECT_EQ(buffer.priority({0, 3}), 0);
}

TEST(TrajectoryBuffer, APriorityThatIsNoNumberChangesNothing) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0))));
  buffer.SetPriority({0, 4}, 7);
  for (const double wrong :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0}) {
    buffer.SetPriority({0, 4}, wrong);
    EXPECT_EQ(buffer.priority({0, 4}), 7);
  }
  // Nine positions have priority 1 and one has 7: 16 in sum.
  std::mt19937_64 random(1);
  for (const DrawnPosition& drawn : buffer.Draw(100, random)) {
    EXPECT_DOUBLE_EQ(drawn.probability, drawn.position == 4 ? 7.0 / 16 : 1.0 / 16);
  }
}

TEST(TrajectoryBuffer, APrioritySavedThatIsNoNumberIsThatOfANewGame) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0))));
  buffer.SetPriority({0, 4}, 7);
  v1::ReplayState state = buffer.Save();
  state.set_priorities(2, std::numeric_limits<double>::quiet_NaN());
  TrajectoryBuffer again(Options());
  ASSERT_TRUE(again.Restore(state, buffer.SavedGames()).ok());
  EXPECT_EQ(again.priority({0, 2}), 7);
  state.set_highest_priority(std::numeric_limits<double>::infinity());
  TrajectoryBuffer without(Options());
  ASSERT_TRUE(without.Restore(state, buffer.SavedGames()).ok());
  EXPECT_EQ(without.priority({0, 2}), 1);
}

TEST(TrajectoryBuffer, KeepsTheBestGamesOfEachProgramForGood) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 40, 0.9))));
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(2, 40, 0.1))));
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(3, 40, 0.5))));
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(4, 40, 0.2))));
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(5, 40, 0.3, "q"))));
  ASSERT_EQ(buffer.BestGames("p").size(), 2);
  EXPECT_EQ(buffer.BestGames("p")[0]->id(), "game 1");  // no longer among the latest games
  EXPECT_EQ(buffer.BestGames("p")[1]->id(), "game 3");
  EXPECT_EQ(buffer.BestGames("q").size(), 1);
  EXPECT_THAT(buffer.BestGames("r"), IsEmpty());
}

TEST(TrajectoryBuffer, TheSameDecisionsAreOneBestGame) {
  TrajectoryBuffer buffer(Options());
  v1::Trajectory game = MakeGame(1, 10, 0.9);
  ASSERT_TRUE(buffer.Insert(Shared(game)));
  game.set_id("again");
  ASSERT_TRUE(buffer.Insert(Shared(game)));
  EXPECT_EQ(buffer.BestGames("p").size(), 1);
}

TEST(TrajectoryBuffer, AGameSearchedAgainTakesItsOldPlace) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 10, 0.9))));
  buffer.SetPriority({0, 4}, 7);
  v1::Trajectory again = MakeGame(1, 10, 0.9);
  again.set_network_step(12);
  EXPECT_TRUE(buffer.Replace(Shared(again)));
  EXPECT_EQ(buffer.game(0)->network_step(), 12);
  EXPECT_EQ(buffer.BestGames("p")[0]->network_step(), 12);
  EXPECT_EQ(buffer.priority({0, 4}), 7);
  again.mutable_actions()->front() ^= 1;
  EXPECT_FALSE(buffer.Replace(Shared(again)));
  EXPECT_FALSE(buffer.Replace(Shared(MakeGame(2, 10, 0))));
}

TEST(TrajectoryBuffer, GoesOnWithTheSameDrawsAfterRestore) {
  TrajectoryBuffer buffer(Options());
  std::mt19937_64 random(5);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 20 + i, 0.1 * (8 - i), i % 2 == 0 ? "p" : "q"))));
    for (const DrawnPosition& drawn : buffer.Draw(10, random)) {
      buffer.SetPriority({drawn.serial, drawn.position}, static_cast<double>(random() % 100));
    }
  }
  TrajectoryBuffer again(Options());
  ASSERT_TRUE(again.Restore(buffer.Save(), Parsed(buffer.SavedGames())).ok());
  EXPECT_EQ(again.Save().SerializeAsString(), buffer.Save().SerializeAsString());
  EXPECT_EQ(again.bytes(), buffer.bytes());
  for (const char* program : {"p", "q"}) {
    ASSERT_EQ(again.BestGames(program).size(), buffer.BestGames(program).size());
    for (size_t i = 0; i < buffer.BestGames(program).size(); ++i) {
      EXPECT_EQ(again.BestGames(program)[i]->id(), buffer.BestGames(program)[i]->id());
    }
  }
  // The next game goes into the same slots, and the same random numbers draw the same positions.
  for (TrajectoryBuffer* one : {&buffer, &again})
    ASSERT_TRUE(one->Insert(Shared(MakeGame(9, 33, 0))));
  std::mt19937_64 other = random;
  const std::vector<DrawnPosition> expected = buffer.Draw(200, random);
  const std::vector<DrawnPosition> drawn = again.Draw(200, other);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(drawn[i].serial, expected[i].serial);
    EXPECT_EQ(drawn[i].position, expected[i].position);
  }
}

TEST(TrajectoryBuffer, BytesEvictTheSameGamesAfterRestore) {
  v1::ReplayOptions options = Options();
  TrajectoryBuffer unbounded(options);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(unbounded.Insert(Shared(MakeGame(i, 11, 0))));
  options.set_max_bytes(unbounded.bytes() + MakeGame(3, 11, 0).ByteSizeLong() - 1);
  TrajectoryBuffer buffer(options);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 11, 0))));
  TrajectoryBuffer again(options);
  ASSERT_TRUE(again.Restore(buffer.Save(), Parsed(buffer.SavedGames())).ok());
  EXPECT_EQ(again.bytes(), buffer.bytes());
  // The bound is one byte short of all four games.
  for (TrajectoryBuffer* one : {&buffer, &again}) {
    ASSERT_TRUE(one->Insert(Shared(MakeGame(3, 11, 0))));
    EXPECT_EQ(one->games(), 3);
  }
}

TEST(TrajectoryBuffer, ABestGameThatHasLeftStaysTheBestAfterRestore) {
  v1::ReplayOptions options = Options();
  options.set_best_games(1);
  TrajectoryBuffer buffer(options);
  v1::Trajectory game = MakeGame(1, 40, 0.9);
  ASSERT_TRUE(buffer.Insert(Shared(game)));
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(2, 40, 0.1))));
  // This game has the first game's decisions; the first game leaves as it is inserted.
  game.set_id("again");
  ASSERT_TRUE(buffer.Insert(Shared(game)));
  ASSERT_EQ(buffer.game(0)->id(), "game 2");
  ASSERT_EQ(buffer.BestGames("p")[0]->id(), "game 1");
  TrajectoryBuffer restored(options);
  ASSERT_TRUE(restored.Restore(buffer.Save(), Parsed(buffer.SavedGames())).ok());
  EXPECT_EQ(restored.BestGames("p")[0]->id(), "game 1");
}

TEST(TrajectoryBuffer, ASmallerBufferTakesUpTheLatestGames) {
  TrajectoryBuffer buffer(Options());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(buffer.Insert(Shared(MakeGame(i, 30, 0.1 * (5 - i)))));
  buffer.SetPriority({4, 7}, 5);
  ASSERT_EQ(buffer.games(), 3);
  ASSERT_EQ(buffer.Save().first_slot(), 60);
  v1::ReplayOptions options = Options();
  // Either size has room for two games. The saved first slot, 60, is outside the smaller buffer and
  // inside the larger one.
  for (const uint64_t decisions : {60, 89}) {
    options.set_max_decisions(decisions);
    TrajectoryBuffer smaller(options);
    const absl::Status status = smaller.Restore(buffer.Save(), Parsed(buffer.SavedGames()));
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(smaller.games(), 2);
    EXPECT_EQ(smaller.game(0)->id(), "game 3");
    EXPECT_EQ(smaller.serial(1), 4);
    EXPECT_EQ(smaller.priority({4, 7}), 5);
    EXPECT_EQ(smaller.priority({4, 8}), 1);
    EXPECT_EQ(smaller.BestGames("p")[0]->id(), "game 0");
    ASSERT_TRUE(smaller.Insert(Shared(MakeGame(5, 30, 0))));
    EXPECT_EQ(smaller.game(0)->id(), "game 4");
  }
  options.set_max_decisions(29);
  TrajectoryBuffer tiny(options);
  ASSERT_TRUE(tiny.Restore(buffer.Save(), Parsed(buffer.SavedGames())).ok());
  EXPECT_EQ(tiny.games(), 0);
  EXPECT_EQ(tiny.inserted_games(), 5);
}

TEST(TrajectoryBuffer, RestoreRefusesWhatDoesNotFit) {
  TrajectoryBuffer buffer(Options());
  ASSERT_TRUE(buffer.Insert(Shared(MakeGame(1, 20, 0.5))));
  TrajectoryBuffer fewer(Options());
  EXPECT_FALSE(fewer.Restore(buffer.Save(), {}).ok());
  v1::ReplayState state = buffer.Save();
  state.mutable_priorities()->RemoveLast();
  TrajectoryBuffer without(Options());
  EXPECT_FALSE(without.Restore(state, buffer.SavedGames()).ok());
}

TEST(TrajectoryBuffer, AnEmptyOneGivesNothing) {
  const TrajectoryBuffer buffer(Options());
  std::mt19937_64 random(1);
  EXPECT_THAT(buffer.Draw(3, random), IsEmpty());
  EXPECT_THAT(buffer.DrawBest(3, random), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
