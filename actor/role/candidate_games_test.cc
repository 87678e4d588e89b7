#include "actor/role/candidate_games.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

constexpr uint32_t kGames = 32;

v1::CheckpointNotice Notice(uint64_t step) {
  v1::CheckpointNotice notice;
  notice.set_step(step);
  notice.set_sha256(absl::StrCat("sha256 of ", step));
  return notice;
}

v1::ActorOrders OrdersNaming(std::optional<uint64_t> candidate) {
  v1::ActorOrders orders;
  if (candidate.has_value()) *orders.mutable_candidate() = Notice(*candidate);
  return orders;
}

v1::Trajectory EvaluationGame(const std::string& program, double value) {
  v1::Trajectory game;
  game.set_program_sha256(program);
  game.set_initial_return(value);
  return game;
}

std::shared_ptr<const NetworkSnapshot> SomeNetwork() {
  return *(*Network::Create(*NetworkPreset("tiny"), 1))->Snapshot({});
}

class CandidateGamesTest : public ::testing::Test {
 protected:
  v1::ActorReport::CandidateGames Described() const {
    v1::ActorReport report;
    games_.Describe(report);
    return report.candidate_games();
  }

  // Plays rounds until one of them evaluates. Returns the number of games before it.
  uint64_t GamesUntilEvaluation(double share) {
    uint64_t before = 0;
    while (!games_.NextRound(share, kGames).has_value()) before += kGames;
    return before;
  }

  CandidateGames games_{7};
  const std::shared_ptr<const NetworkSnapshot> network_ = SomeNetwork();
};

TEST_F(CandidateGamesTest, EvaluatesWithTheCandidatesWeightsOnceItHasThem) {
  games_.SetNetwork(SomeNetwork(), Notice(40));  // newer than the candidate
  EXPECT_EQ(games_.NextRound(0.01, kGames), std::nullopt);
  games_.SetOrders(OrdersNaming(20));
  EXPECT_EQ(games_.NextRound(0.01, kGames), std::nullopt);
  ASSERT_TRUE(games_.Wanted().has_value());
  EXPECT_EQ(games_.Wanted()->step(), 20);
  games_.SetNetwork(network_, Notice(20));
  EXPECT_EQ(games_.Wanted(), std::nullopt);
  const std::optional<CandidateRound> round = games_.NextRound(0.01, kGames);
  ASSERT_TRUE(round.has_value());
  EXPECT_EQ(round->network, network_);
  EXPECT_EQ(round->candidate.step(), 20);
}

TEST_F(CandidateGamesTest, FetchesNoWeightsThatItHas) {
  games_.SetNetwork(network_, Notice(20));
  EXPECT_EQ(games_.NextRound(0.01, kGames), std::nullopt);
  games_.SetOrders(OrdersNaming(20));
  EXPECT_EQ(games_.Wanted(), std::nullopt);
  EXPECT_TRUE(games_.NextRound(0.01, kGames).has_value());
}

TEST_F(CandidateGamesTest, FetchesWeightsOnlyForARoundThatIsDue) {
  games_.SetOrders(OrdersNaming(20));
  EXPECT_EQ(games_.Wanted(), std::nullopt);
  games_.NextRound(0.01, kGames);
  EXPECT_TRUE(games_.Wanted().has_value());
  games_.SetNetwork(network_, Notice(20));
  games_.NextRound(0.01, kGames);
  games_.SetOrders(OrdersNaming(60));
  EXPECT_EQ(games_.Wanted(), std::nullopt);
}

// The first evaluation comes after one round. Later ones are a round in 1 / share rounds.
TEST_F(CandidateGamesTest, EvaluatesTheGivenShareOfGames) {
  games_.SetOrders(OrdersNaming(20));
  games_.SetNetwork(network_, Notice(20));
  EXPECT_EQ(GamesUntilEvaluation(0.01), kGames);
  for (int i = 0; i < 5; ++i) {
    // 32 / 0.01 games, of which 32 evaluate. A round more or less is rounding.
    EXPECT_NEAR(static_cast<double>(GamesUntilEvaluation(0.01)), 3200 - kGames, kGames);
  }
}

TEST_F(CandidateGamesTest, ShareZeroEvaluatesNeverAndShareOneAlways) {
  games_.SetOrders(OrdersNaming(20));
  games_.SetNetwork(network_, Notice(20));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(games_.NextRound(0, kGames), std::nullopt);
  EXPECT_EQ(games_.NextRound(1, kGames), std::nullopt);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(games_.NextRound(1, kGames).has_value());
}

TEST_F(CandidateGamesTest, RoundsThatHadNoCandidateAreNotMadeUpFor) {
  for (int i = 0; i < 10'000; ++i) games_.NextRound(0.01, kGames);
  games_.SetOrders(OrdersNaming(20));
  games_.SetNetwork(network_, Notice(20));
  EXPECT_EQ(GamesUntilEvaluation(0.01), 0);
  EXPECT_GT(GamesUntilEvaluation(0.01), 3000);
}

TEST_F(CandidateGamesTest, TheProgramsTakeTurnsOverAllRounds) {
  games_.SetOrders(OrdersNaming(20));
  games_.SetNetwork(network_, Notice(20));
  games_.NextRound(1, 5);
  EXPECT_EQ(games_.NextRound(1, 5)->first_program, 7);
  EXPECT_EQ(games_.NextRound(1, 5)->first_program, 12);
}

TEST_F(CandidateGamesTest, ReportsTheSameTotalsUntilThereAreMore) {
  games_.SetOrders(OrdersNaming(20));
  EXPECT_EQ(Described().programs_size(), 0);
  games_.AddRound("sha256 of 20",
                  {EvaluationGame("p", 0.75), EvaluationGame("p", 0.25), EvaluationGame("q", 0.5)});
  for (int i = 0; i < 2; ++i) {
    const v1::ActorReport::CandidateGames described = Described();
    EXPECT_EQ(described.sha256(), "sha256 of 20");
    ASSERT_EQ(described.programs_size(), 2);
    EXPECT_EQ(described.programs(0).program_sha256(), "p");
    EXPECT_EQ(described.programs(0).games(), 2);
    EXPECT_DOUBLE_EQ(described.programs(0).mean_return(), 0.5);
    EXPECT_EQ(described.programs(1).games(), 1);
  }
  games_.SetOrders(OrdersNaming(20));  // the same candidate again
  games_.AddRound("sha256 of 20", {EvaluationGame("p", 2)});
  EXPECT_EQ(Described().programs(0).games(), 3);
  EXPECT_DOUBLE_EQ(Described().programs(0).mean_return(), 1);
}

TEST_F(CandidateGamesTest, ANewCandidateStartsWithoutGamesAndWeights) {
  games_.SetOrders(OrdersNaming(20));
  games_.SetNetwork(network_, Notice(20));
  games_.AddRound("sha256 of 20", {EvaluationGame("p", 0.75)});
  games_.SetOrders(OrdersNaming(60));
  EXPECT_EQ(Described().programs_size(), 0);
  games_.AddRound("sha256 of 20", {EvaluationGame("p", 0.75)});  // a round that began before
  EXPECT_EQ(Described().programs_size(), 0);
  games_.NextRound(1, kGames);
  EXPECT_EQ(games_.NextRound(1, kGames), std::nullopt);
  EXPECT_EQ(games_.Wanted()->step(), 60);
}

// So it is under a learner of an earlier release, and between two candidates.
TEST_F(CandidateGamesTest, OrdersWithoutACandidateEndTheEvaluation) {
  games_.SetOrders(OrdersNaming(20));
  games_.SetNetwork(network_, Notice(20));
  games_.AddRound("sha256 of 20", {EvaluationGame("p", 0.75)});
  games_.SetOrders(OrdersNaming(std::nullopt));
  EXPECT_EQ(Described().programs_size(), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(games_.NextRound(1, kGames), std::nullopt);
  EXPECT_EQ(games_.Wanted(), std::nullopt);
}

}  // namespace
}  // namespace mallocmuzero
