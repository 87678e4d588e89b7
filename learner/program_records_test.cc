#include "learner/program_records.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "actor/game_recorder.h"
#include "actor/testing/recorded_game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProgramRecordsTest : public ::testing::Test {
 protected:
  v1::Trajectory Play(size_t p, PlayerKind kind) const {
    return testing::RecordedGame(programs_[p], Player(kind, 1), TrajectoryId(1, 2, p));
  }

  // The indices of the programs that TakeImproved returns.
  static std::vector<size_t> Improved(ProgramRecords& records) {
    std::vector<size_t> indices;
    for (const ImprovedProgram& program : records.TakeImproved()) indices.push_back(program.index);
    return indices;
  }

  static v1::TrainState Saved(const ProgramRecords& records) {
    v1::TrainState state;
    records.SaveTo(state);
    return state;
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 2);
  ProgramRecords records_ = *ProgramRecords::Create(programs_, 0);
};

TEST_F(ProgramRecordsTest, AProgramIsImprovedByABetterGameOnly) {
  EXPECT_THAT(Improved(records_), IsEmpty());
  records_.NoteGame(Play(1, PlayerKind::kEager), kAgentPlayer);
  const std::vector<ImprovedProgram> improved = records_.TakeImproved();
  ASSERT_EQ(improved.size(), 1);
  EXPECT_EQ(improved[0].index, 1);
  EXPECT_EQ(improved[0].progress.best_return, records_.progress()[1].best_return);
  EXPECT_THAT(Improved(records_), IsEmpty());
  records_.NoteGame(Play(1, PlayerKind::kEager), kAgentPlayer);
  EXPECT_THAT(Improved(records_), IsEmpty());
  records_.PutBackImproved(improved);
  EXPECT_THAT(Improved(records_), ElementsAre(1));
}

TEST_F(ProgramRecordsTest, StandingsKnowTheMeanOfTheGamesInTheBaseline) {
  EXPECT_FALSE(records_.Standings()[0].mean_return.has_value());
  const v1::Trajectory game = Play(0, PlayerKind::kRandom);
  records_.AddToBaseline(game);
  records_.Refresh();
  const std::vector<ProgramStanding> standings = records_.Standings();
  // The mean of one game is its return.
  EXPECT_NEAR(standings[0].mean_return->share(), TotalReturn(game).share(), 1e-9);
  EXPECT_GE(standings[0].best_return, records_.progress()[0].greedy_return);
  EXPECT_GT(standings[0].scale, HbmShare(0));
  EXPECT_FALSE(standings[1].mean_return.has_value());
}

TEST_F(ProgramRecordsTest, TheBestKnownReturnIsThatOfTheBestPlayer) {
  records_.NoteGame(Play(0, PlayerKind::kRandom), kAgentPlayer);
  const ProgramProgress& progress = records_.progress()[0];
  EXPECT_GE(records_.Standings()[0].best_return, progress.greedy_return);
  EXPECT_GE(records_.Standings()[0].best_return, progress.best_return);
}

TEST_F(ProgramRecordsTest, TheCompilersDefaultCanBeTheBestKnown) {
  v1::Program proto = programs_[0].program().proto();
  proto.mutable_baseline()->set_total_cycles(1);
  v1::Mapping& all_hbm = *proto.mutable_baseline()->mutable_mapping();
  for (int a = 0; a < proto.accesses_size(); ++a) all_hbm.add_in_fast_memory(false);
  SealProgram(proto);
  std::vector<Program> programs;
  programs.push_back(*Program::FromProto(proto));
  const ProgramSet set = *ProgramSet::Create(std::move(programs));
  const ProgramRecords records = *ProgramRecords::Create(set, 0);
  ASSERT_GT(HbmShare(set[0].default_return()), records.progress()[0].greedy_return);
  EXPECT_EQ(records.Standings()[0].best_return, HbmShare(set[0].default_return()));
}

TEST_F(ProgramRecordsTest, GoesOnFromWhatItHasSaved) {
  const v1::Trajectory game = Play(0, PlayerKind::kEager);
  records_.NoteGame(game, kAgentPlayer);
  records_.AddToBaseline(game);
  records_.Refresh();
  records_.SetPolicyReturn(0, HbmShare(0.25));
  ProgramRecords later = *ProgramRecords::Create(programs_, 0);
  const v1::TrainState saved = Saved(records_);
  EXPECT_EQ(CheckRules(saved), absl::OkStatus());
  ASSERT_EQ(saved.programs_size(), 2);
  EXPECT_FALSE(later.Restore(1, saved.programs(0)).ok());
  ASSERT_EQ(later.Restore(0, saved.programs(0)), absl::OkStatus());
  EXPECT_EQ(Saved(later).programs(0).SerializeAsString(), saved.programs(0).SerializeAsString());
  EXPECT_EQ(later.progress()[0].policy_return, HbmShare(0.25));
  // Whether the mapping was written is not saved.
  EXPECT_THAT(Improved(later), ElementsAre(0));
}

TEST_F(ProgramRecordsTest, WhatAnotherProgramHasSavedIsNotRestored) {
  // Only their hashes tell the programs apart: neither has a game.
  const v1::TrainState::Program saved = Saved(records_).programs(0);
  EXPECT_FALSE(records_.Restore(1, saved).ok());
  EXPECT_EQ(records_.Restore(0, saved), absl::OkStatus());
}

TEST_F(ProgramRecordsTest, ABestGameThatCannotBePlayedIsNotRestored) {
  records_.NoteGame(Play(0, PlayerKind::kEager), kAgentPlayer);
  const v1::TrainState::Program good = Saved(records_).programs(0);
  const std::string& actions = good.best_actions();
  for (const std::string& wrong :
       {actions.substr(1), actions + actions[0], std::string(actions.size(), '\x03')}) {
    v1::TrainState::Program saved = good;
    saved.set_best_actions(wrong);
    ProgramRecords later = *ProgramRecords::Create(programs_, 0);
    EXPECT_FALSE(later.Restore(0, saved).ok());
    EXPECT_TRUE(later.progress()[0].best_actions.empty());
    EXPECT_EQ(later.Restore(0, good), absl::OkStatus());
  }
}

TEST_F(ProgramRecordsTest, ReturnsThatAreNoNumbersAreNotRestored) {
  records_.NoteGame(Play(0, PlayerKind::kEager), kAgentPlayer);
  const v1::TrainState::Program good = Saved(records_).programs(0);
  ASSERT_TRUE(std::isnan(good.policy_return()));  // there was no evaluation
  EXPECT_EQ(records_.Restore(0, good), absl::OkStatus());
  v1::TrainState::Program saved = good;
  saved.set_best_return(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(records_.Restore(0, saved).ok());
  saved = good;
  saved.set_policy_return(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(records_.Restore(0, saved).ok());
  EXPECT_EQ(Saved(records_).programs(0).SerializeAsString(), good.SerializeAsString());
}

TEST_F(ProgramRecordsTest, ABestGameWithAnotherReturnIsNotRestored) {
  records_.NoteGame(Play(0, PlayerKind::kEager), kAgentPlayer);
  const v1::TrainState::Program good = Saved(records_).programs(0);
  v1::TrainState::Program saved = good;
  // A better return would keep out all games that are better than this one.
  saved.set_best_return(good.best_return() + 0.25);
  // Neither where the game is new nor where it is known.
  ProgramRecords later = *ProgramRecords::Create(programs_, 0);
  for (ProgramRecords* records : {&later, &records_}) {
    const absl::Status status = records->Restore(0, saved);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(programs_[0].name() + ": the record"));
    EXPECT_THAT(status.message(), HasSubstr("best_return: "));
    EXPECT_EQ(records->Restore(0, good), absl::OkStatus());
  }
}

TEST_F(ProgramRecordsTest, GamesOfOtherRulesAreRefused) {
  v1::TrainState state = Saved(records_);
  state.set_rules_version(kGameRulesVersion + 1);
  EXPECT_EQ(CheckRules(state).code(), absl::StatusCode::kInvalidArgument);
  // The version is younger than the first files.
  state.clear_rules_version();
  EXPECT_EQ(CheckRules(state), absl::OkStatus());
}

TEST_F(ProgramRecordsTest, AProgramWithoutRecentGamesIsDescribedWithoutTheirMean) {
  const std::vector<v1::TrainMetrics::Program> some =
      records_.Describe({HbmShare(0.5), std::nullopt});
  EXPECT_EQ(some[0].mean_return(), 0.5);
  EXPECT_FALSE(some[1].has_mean_return());
  EXPECT_FALSE(records_.Describe({})[0].has_mean_return());
}

TEST_F(ProgramRecordsTest, OfMappingsThatCannotBeWrittenTheRestIsLeft) {
  const std::string folder = ::testing::TempDir() + "/program_records_test_run";
  std::filesystem::remove_all(folder);
  const RunDirectory directory = *RunDirectory::Create(folder, v1::TrainConfig());
  for (size_t p = 0; p < 2; ++p) records_.NoteGame(Play(p, PlayerKind::kEager), kAgentPlayer);
  std::vector<ImprovedProgram> improved = records_.TakeImproved();
  // A folder where the mapping of the first program belongs.
  const std::string path =
      directory.BestPath(programs_[0].program().hardware().name(), programs_[0].name());
  std::filesystem::create_directories(path + "/in_the_way");
  EXPECT_FALSE(WriteBestMappings(directory, improved).ok());
  ASSERT_FALSE(improved.empty());
  EXPECT_EQ(improved.front().index, 0);
  std::filesystem::remove_all(path);
  EXPECT_EQ(WriteBestMappings(directory, improved), absl::OkStatus());
  EXPECT_THAT(improved, IsEmpty());
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

}  // namespace
}  // namespace mallocmuzero
