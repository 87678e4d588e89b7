#include "learner/role/game_book.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actor/game_recorder.h"
#include "actor/testing/recorded_game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GameBookTest : public ::testing::Test {
 protected:
  static v1::Trajectory Play(uint64_t seed, const PlayedProgram& program,
                             v1::Trajectory::Source source) {
    return testing::RecordedGame(program, Player(PlayerKind::kRandom, seed),
                                 TrajectoryId(1, 2, seed), source);
  }

  v1::Trajectory Play(uint64_t seed) const {
    return Play(seed, programs_[0], v1::Trajectory::SELF_PLAY);
  }

  uint64_t BaselineGames() const { return book_->baselines()->at(programs_[0].sha256()).games(); }

  const absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  const ProgramSet programs_ = testing::RandomProgramSet(11, 1);
  const std::unique_ptr<GameBook> book_ = *GameBook::Create(programs_, false);
};

TEST_F(GameBookTest, ConvertsSearchedValuesByTheBaselineOfTheNetworkThatFoundThem) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  book_->Refresh(100);
  const ReturnBaseline then = book_->baselines()->at(programs_[0].sha256());
  for (uint64_t seed = 2; seed < 60; ++seed) EXPECT_EQ(book_->Accept(Play(seed)), absl::OkStatus());
  book_->Refresh(200);
  ASSERT_NE(book_->baselines()->at(programs_[0].sha256()).scale(), then.scale());
  const auto played = std::make_shared<v1::Trajectory>(Play(1));
  // A network is published when the baselines are refreshed, and has learned by those before.
  played->set_network_step(200);
  played->set_root_values(0, 0.5F);
  const SharedTrajectory converted = book_->WithSearchedReturns(played);
  ASSERT_EQ(converted->searched_returns_size(), played->accesses_size());
  const HbmShare expected = then.FromNetwork(NetworkValue(0.5), played->accesses(0));
  EXPECT_FLOAT_EQ(converted->searched_returns(0), static_cast<float>(expected.share()));
  // A game that has them is not converted again.
  EXPECT_EQ(book_->WithSearchedReturns(converted), converted);
}

// The learner has started anew: the books of before are gone, but for the baselines of the
// checkpoint, which are the nearest to those of the networks of before.
TEST_F(GameBookTest, ConvertsValuesOfBeforeARestartByTheBaselinesOfTheCheckpoint) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  book_->Refresh(100);
  const ReturnBaseline then = book_->baselines()->at(programs_[0].sha256());
  v1::TrainState state;
  book_->SaveTo(state);
  state.set_update(120);
  const std::unique_ptr<GameBook> restarted = *GameBook::Create(programs_, false);
  ASSERT_EQ(restarted->RestoreFrom(state), absl::OkStatus());
  for (uint64_t seed = 2; seed < 60; ++seed) {
    v1::Trajectory game = Play(seed);
    game.set_network_step(120);
    EXPECT_EQ(restarted->Accept(game), absl::OkStatus());
  }
  restarted->Refresh(200);
  ASSERT_NE(restarted->baselines()->at(programs_[0].sha256()).scale(), then.scale());
  // The last one is the network that the learner publishes when it starts.
  for (const uint64_t step : {60, 100, 120}) {
    const auto played = std::make_shared<v1::Trajectory>(Play(1));
    played->set_network_step(step);
    played->set_root_values(0, 0.5F);
    const SharedTrajectory converted = restarted->WithSearchedReturns(played);
    ASSERT_EQ(converted->searched_returns_size(), played->accesses_size()) << step;
    const HbmShare expected = then.FromNetwork(NetworkValue(0.5), played->accesses(0));
    EXPECT_FLOAT_EQ(converted->searched_returns(0), static_cast<float>(expected.share())) << step;
  }
}

// The learner draws the same stored games again after a restart.
TEST_F(GameBookTest, CountsNoGameOfBeforeARestartTwice) {
  const auto accept = [&](GameBook& book, uint64_t first, uint64_t step) {
    for (uint64_t seed = first; seed < first + 40; ++seed) {
      v1::Trajectory game = Play(seed);
      game.set_network_step(step);
      EXPECT_EQ(book.Accept(game), absl::OkStatus());
    }
    book.Refresh(step);
  };
  const std::string& program = programs_[0].sha256();
  accept(*book_, 1, 119);
  const ReturnBaseline then = book_->baselines()->at(program);
  v1::TrainState state;
  book_->SaveTo(state);
  state.set_update(120);
  const std::unique_ptr<GameBook> restarted = *GameBook::Create(programs_, false);
  ASSERT_EQ(restarted->RestoreFrom(state), absl::OkStatus());
  accept(*restarted, 1, 119);
  EXPECT_EQ(restarted->taken(), 40);
  EXPECT_EQ(restarted->baselines()->at(program).games(), 40);
  EXPECT_EQ(restarted->baselines()->at(program).At(0), then.At(0));
  EXPECT_EQ(restarted->baselines()->at(program).scale(), then.scale());
  // Games of the network that the learner publishes when it starts are new.
  accept(*restarted, 41, 120);
  EXPECT_EQ(restarted->baselines()->at(program).games(), 80);
  // No game of a program without a baseline was counted before.
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
  state.clear_programs();
  ASSERT_EQ(other->RestoreFrom(state), absl::OkStatus());
  accept(*other, 1, 119);
  EXPECT_EQ(other->baselines()->at(program).games(), 40);
}

TEST_F(GameBookTest, LeavesValuesAsTheyAreBeforeThereAreGames) {
  const auto played = std::make_shared<v1::Trajectory>(Play(1));
  played->set_root_values(0, 0.5F);
  EXPECT_EQ(book_->WithSearchedReturns(played), played);
}

TEST_F(GameBookTest, ConvertsTheValuesOfADemonstrationThatWasSearchedAgain) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  book_->Refresh(100);
  const ReturnBaseline then = book_->baselines()->at(programs_[0].sha256());
  v1::Trajectory game = Play(2, programs_[0], v1::Trajectory::DEMONSTRATION);
  const SharedTrajectory shown = std::make_shared<const v1::Trajectory>(game);
  // A solver finds no values.
  EXPECT_EQ(book_->WithSearchedReturns(shown), shown);
  game.set_network_step(150);
  game.set_root_values(0, 0.5F);
  const SharedTrajectory converted =
      book_->WithSearchedReturns(std::make_shared<const v1::Trajectory>(game));
  ASSERT_EQ(converted->searched_returns_size(), game.accesses_size());
  const HbmShare expected = then.FromNetwork(NetworkValue(0.5), game.accesses(0));
  EXPECT_FLOAT_EQ(converted->searched_returns(0), static_cast<float>(expected.share()));
}

TEST_F(GameBookTest, CountsAGameOnceHoweverOftenItIsDrawn) {
  const v1::Trajectory game = Play(1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(book_->Accept(game), absl::OkStatus());
  EXPECT_EQ(book_->taken(), 1);
  // A game that was searched again counts as the same game.
  v1::Trajectory again = game;
  again.set_network_step(9);
  again.set_root_values(0, 0.5F);
  EXPECT_EQ(book_->Accept(again), absl::OkStatus());
  EXPECT_EQ(book_->taken(), 1);
  book_->Refresh(0);
  EXPECT_EQ(BaselineGames(), 1);
}

TEST_F(GameBookTest, BaselinesChangeOnlyWhenRefreshed) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  EXPECT_EQ(BaselineGames(), 0);
  book_->RefreshNewPrograms();
  EXPECT_EQ(BaselineGames(), 1);
  for (uint64_t seed = 2; seed < 60; ++seed) EXPECT_EQ(book_->Accept(Play(seed)), absl::OkStatus());
  book_->RefreshNewPrograms();
  EXPECT_EQ(BaselineGames(), 59);
  EXPECT_EQ(book_->Accept(Play(60)), absl::OkStatus());
  book_->RefreshNewPrograms();  // it is not new any more
  EXPECT_EQ(BaselineGames(), 59);
  book_->Refresh(0);
  EXPECT_EQ(BaselineGames(), 60);
}

TEST_F(GameBookTest, RefusesGamesThatAreNotOfTheRun) {
  v1::Trajectory game = Play(1);
  game.set_program_sha256("other");
  EXPECT_TRUE(absl::IsNotFound(book_->Accept(game)));
  game = Play(1);
  EXPECT_EQ(book_->Accept(game), absl::OkStatus());
  // Other decisions with the id of a known game are refused.
  (*game.mutable_actions())[0] = 77;
  EXPECT_THAT(book_->Accept(game).message(), HasSubstr("actions[0]"));
  // So are its own decisions with other rewards.
  game = Play(1);
  game.set_rewards(0, game.rewards(0) + 1);
  EXPECT_THAT(book_->Accept(game).message(), HasSubstr("rewards[0]"));
  EXPECT_EQ(book_->taken(), 1);
}

TEST_F(GameBookTest, RemembersTheBestAndGoesOnFromWhatWasSaved) {
  double best = -1;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const v1::Trajectory game = Play(seed);
    best = std::max(best, TotalReturn(game).share());
    EXPECT_EQ(book_->Accept(game), absl::OkStatus());
  }
  book_->Refresh(0);
  EXPECT_EQ(book_->Describe()[0].best_return(), best);
  v1::TrainState state;
  book_->SaveTo(state);
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
  EXPECT_EQ(other->RestoreFrom(state), absl::OkStatus());
  EXPECT_EQ(other->Describe()[0].best_return(), best);
  EXPECT_EQ(other->Describe()[0].scale(), book_->Describe()[0].scale());
  EXPECT_EQ(other->baselines()->at(programs_[0].sha256()).At(0),
            book_->baselines()->at(programs_[0].sha256()).At(0));
}

TEST_F(GameBookTest, SendsAnActorTheBestGamesThatItLacks) {
  const ProgramSet programs = testing::RandomProgramSet(11, 2);
  const std::unique_ptr<GameBook> book = *GameBook::Create(programs, false);
  v1::Trajectory best[2];
  for (size_t p = 0; p < programs.size(); ++p) {
    best[p] = Play(1, programs[p], v1::Trajectory::SELF_PLAY);
    EXPECT_EQ(book->Accept(best[p]), absl::OkStatus());
  }
  const auto sent = [&](const v1::ActorReport& report, size_t most_bytes) {
    v1::ActorOrders orders;
    book->AddBestGames(report, most_bytes, orders);
    return orders.best_games();
  };
  v1::ActorReport report;
  ASSERT_EQ(sent(report, 1 << 20).size(), 2);
  for (size_t p = 0; p < programs.size(); ++p) {
    const v1::ActorOrders::BestGame game = sent(report, 1 << 20)[p];
    EXPECT_EQ(game.program_sha256(), programs[p].sha256());
    EXPECT_EQ(game.actions(), best[p].actions());
    EXPECT_EQ(game.total_return(), TotalReturn(best[p]).share());
  }
  // At least one game is sent, however large it is. The next one follows when this one is known.
  ASSERT_EQ(sent(report, 1).size(), 1);
  v1::ActorReport::KnownGame& known = *report.add_known_games();
  known.set_program_sha256(programs[0].sha256());
  known.set_total_return(TotalReturn(best[0]).share());
  ASSERT_EQ(sent(report, 1).size(), 1);
  EXPECT_EQ(sent(report, 1)[0].program_sha256(), programs[1].sha256());
  known.set_total_return(known.total_return() - 1e-9);
  EXPECT_EQ(sent(report, 1 << 20).size(), 2);
}

TEST_F(GameBookTest, KeepsTheReturnOfTheLastEvaluation) {
  EXPECT_FALSE(book_->Describe()[0].has_policy_return());
  book_->SetPolicyReturn(0, HbmShare(0.5));
  book_->SetPolicyReturn(0, HbmShare(0.375));
  EXPECT_EQ(book_->Describe()[0].policy_return(), 0.375);
  v1::TrainState state;
  book_->SaveTo(state);
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
  EXPECT_EQ(other->RestoreFrom(state), absl::OkStatus());
  EXPECT_EQ(other->Describe()[0].policy_return(), 0.375);
}

TEST_F(GameBookTest, RemembersWhichProgramsItHasTakenDemonstrationsOf) {
  const ProgramSet programs = testing::RandomProgramSet(5, 4);
  const std::unique_ptr<GameBook> book = *GameBook::Create(programs, false);
  EXPECT_THAT(book->Undemonstrated(0, 9, now_), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(book->Undemonstrated(7, 2, now_), ElementsAre(3, 0));
  EXPECT_EQ(book->Accept(Play(1, programs[1], v1::Trajectory::DEMONSTRATION)), absl::OkStatus());
  EXPECT_EQ(book->Accept(Play(2, programs[2], v1::Trajectory::SELF_PLAY)), absl::OkStatus());
  EXPECT_THAT(book->Undemonstrated(0, 9, now_), ElementsAre(0, 2, 3));
  v1::TrainState state;
  book->SaveTo(state);
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs, false);
  EXPECT_EQ(other->RestoreFrom(state), absl::OkStatus());
  EXPECT_THAT(other->Undemonstrated(0, 9, now_), ElementsAre(0, 2, 3));
  for (const uint32_t p : {0, 2, 3}) {
    EXPECT_EQ(other->Accept(Play(3 + p, programs[p], v1::Trajectory::DEMONSTRATION)),
              absl::OkStatus());
  }
  EXPECT_THAT(other->Undemonstrated(5, 9, now_), IsEmpty());
}

TEST_F(GameBookTest, AsksForDemonstrationsAgainThatAnActorHasShownAndThatNeverCame) {
  v1::ActorReport report;
  report.add_demonstrated(programs_[0].sha256());
  report.add_demonstrated("another program");
  book_->AcceptReport(report, now_);
  const absl::Time due = now_ + kDemonstrationPatience;
  EXPECT_THAT(book_->Undemonstrated(0, 9, due - absl::Seconds(1)), IsEmpty());
  EXPECT_THAT(book_->Undemonstrated(0, 9, due), ElementsAre(0));
  // A demonstration that is only on its way is not saved.
  v1::TrainState state;
  book_->SaveTo(state);
  EXPECT_FALSE(state.programs(0).demonstrated());
  EXPECT_EQ(book_->Accept(Play(1, programs_[0], v1::Trajectory::DEMONSTRATION)), absl::OkStatus());
  EXPECT_THAT(book_->Undemonstrated(0, 9, due), IsEmpty());
}

TEST_F(GameBookTest, KeepsWhatIsKnownOfProgramsThatAreNotTrainedOnNow) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  v1::TrainState state;
  book_->SaveTo(state);
  v1::TrainState::Program& left_out = *state.add_programs();
  left_out = state.programs(0);
  left_out.set_sha256("another program");
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
  EXPECT_EQ(other->RestoreFrom(state), absl::OkStatus());
  EXPECT_EQ(other->RestoreFrom(state), absl::OkStatus());  // a second time changes nothing
  v1::TrainState again;
  other->SaveTo(again);
  ASSERT_EQ(again.programs_size(), 2);
  EXPECT_EQ(again.programs(1).SerializeAsString(), left_out.SerializeAsString());
}

TEST_F(GameBookTest, RefusesToGoOnFromGamesByOtherRules) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  v1::TrainState state;
  book_->SaveTo(state);
  state.set_rules_version(kGameRulesVersion + 1);
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
  const absl::Status status = other->RestoreFrom(state);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("this build plays"));
  EXPECT_EQ(other->Describe()[0].best_return(), 0);
}

TEST_F(GameBookTest, RefusesADamagedRecordAndKeepsItsOwn) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  v1::TrainState state;
  book_->SaveTo(state);
  state.clear_rules_version();  // like a file without a version
  state.set_update(7);
  v1::TrainState::Program& left_out = *state.add_programs();
  left_out = state.programs(0);
  left_out.set_sha256("another program");
  // The damaged record is the last one.
  state.mutable_programs()->SwapElements(0, 1);
  std::string& actions = *state.mutable_programs(1)->mutable_best_actions();
  const std::string whole = actions;
  const std::string bad[] = {std::string(whole.size(), '\x7f'), whole + whole, whole.substr(1)};
  for (const std::string& game : bad) {
    actions = game;
    const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
    const absl::Status status = other->RestoreFrom(state);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(programs_[0].name() + ": the record"));
    EXPECT_THAT(status.message(), HasSubstr("best_actions: "));
    v1::TrainState kept;
    other->SaveTo(kept);
    ASSERT_EQ(kept.programs_size(), 1);
    EXPECT_EQ(kept.programs(0).best_actions(), "");
  }
  actions = whole;
  const std::unique_ptr<GameBook> other = *GameBook::Create(programs_, false);
  EXPECT_EQ(other->RestoreFrom(state), absl::OkStatus());
  EXPECT_EQ(other->Describe()[0].best_return(), book_->Describe()[0].best_return());
}

TEST_F(GameBookTest, AMappingThatCouldNotBeWrittenIsWrittenTheNextTime) {
  EXPECT_EQ(book_->Accept(Play(1)), absl::OkStatus());
  const std::string folder = ::testing::TempDir() + "/game_book_test_run";
  std::filesystem::remove_all(folder);
  const RunDirectory directory = *RunDirectory::Create(folder, v1::TrainConfig());
  std::filesystem::remove(folder + "/best");
  std::ofstream(folder + "/best") << "where the folder belongs";
  EXPECT_FALSE(book_->WriteBestMappings(directory).ok());
  std::filesystem::remove(folder + "/best");
  EXPECT_EQ(book_->WriteBestMappings(directory), absl::OkStatus());
  const std::string path =
      directory.BestPath(programs_[0].program().hardware().name(), programs_[0].name());
  EXPECT_TRUE(std::filesystem::exists(path));
  // A mapping that was written is not written again.
  std::filesystem::remove(path);
  EXPECT_EQ(book_->WriteBestMappings(directory), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(GameBookTest, AFollowersBaselinesAreTheOthers) {
  const std::unique_ptr<GameBook> follower = *GameBook::Create(programs_, true);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    EXPECT_EQ(book_->Accept(Play(seed)), absl::OkStatus());
    EXPECT_EQ(follower->Accept(Play(100 + seed)), absl::OkStatus());
  }
  book_->Refresh(0);
  follower->Refresh(0);
  const auto baseline = [&](const GameBook& book) {
    return book.baselines()->at(programs_[0].sha256());
  };
  EXPECT_EQ(baseline(*follower).games(), 0);
  v1::TrainState state;
  book_->SaveTo(state);
  EXPECT_EQ(follower->RestoreFrom(state), absl::OkStatus());
  EXPECT_EQ(baseline(*follower).games(), 19);
  EXPECT_EQ(baseline(*follower).scale(), baseline(*book_).scale());
}

}  // namespace
}  // namespace mallocmuzero
