#include "learner/batch_maker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "actor/game_recorder.h"
#include "env/game.h"
#include "env/observation.h"
#include "env/players.h"
#include "env/program_set.h"
#include "env/recorded_incumbent.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// One random program, some random games of it and their baseline.
class BatchMakerTest : public ::testing::Test {
 protected:
  BatchMakerTest() {
    std::mt19937_64 random(4);
    std::vector<Program> programs;
    while (programs.empty()) {
      Program program = testing::RandomGameProgram(random);
      const auto played = PlayedProgram::Create(std::move(program));
      if (played->decisions() < 12) continue;
      programs.push_back(*Program::FromProto(played->program().proto()));
    }
    set_ = std::make_unique<ProgramSet>(*ProgramSet::Create(std::move(programs)));
    const PlayedProgram& program = (*set_)[0];
    ReturnBaseline baseline(program.rules().access_count());
    Player player(PlayerKind::kRandom, 5);
    for (int g = 0; g < 4; ++g) {
      games_.push_back(PlayOne(program, player, g));
      baseline.Add(*games_.back());
    }
    baseline.Refresh();
    baselines_.emplace(program.sha256(), std::move(baseline));
    options_.set_unroll_steps(3);
  }

  static SharedTrajectory PlayOne(const PlayedProgram& program, Player& player, int g) {
    GameRecorder recorder(program, TrajectoryId(0, 0, g), v1::Trajectory::SELF_PLAY, 0);
    Game game(program.rules());
    recorder.Start(game);
    player.StartGame();
    const float policy[] = {0.5F, 0.25F, 0.25F};
    while (!game.finished()) {
      // Every second position was searched.
      const bool searched = game.history().size() % 2 == 0;
      if (searched) {
        recorder.Apply(game, player.Choose(game), policy, NetworkValue(2));
      } else {
        recorder.Apply(game, player.Choose(game));
      }
    }
    return std::make_shared<const v1::Trajectory>(std::move(recorder).Finish());
  }

  BatchRow Row(int game, uint32_t position) const {
    return {.drawn = {.trajectory = games_[game], .position = position}};
  }

  const ReturnBaseline& baseline() const { return baselines_.begin()->second; }

  // The value of a decision: the sum of the rewards from it on, in units of the baseline.
  double ValueAt(int game, int d) const {
    const v1::Trajectory& t = *games_[game];
    if (d >= t.accesses_size()) return 0;
    double to_go = 0;
    for (int i = d; i < t.accesses_size(); ++i) to_go += t.rewards(i);
    return baseline().ToNetwork(HbmShare(to_go), t.accesses(d)).value();
  }

  std::unique_ptr<ProgramSet> set_;
  Baselines baselines_;
  v1::LearnerOptions options_;
  std::vector<SharedTrajectory> games_;
};

TEST_F(BatchMakerTest, ObservationsAreThoseOfTheGamePlayedAgain) {
  // The rows are not in the order of games or positions, and two threads fill them.
  const std::vector<BatchRow> rows = {Row(1, 7), Row(0, 0), Row(1, 2)};
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 2).Fill(rows, batch).ok());
  ObservationWriter writer((*set_)[0].tables());
  std::vector<float> expected(kObservationSize);
  for (size_t i = 0; i < rows.size(); ++i) {
    Game game((*set_)[0].rules());
    for (uint32_t d = 0; d < rows[i].drawn.position; ++d) {
      game.Apply(static_cast<Action>(rows[i].drawn.trajectory->actions()[d]));
    }
    writer.Write(game, absl::MakeSpan(expected));
    const std::vector<float> row(batch.observations.begin() + i * kObservationSize,
                                 batch.observations.begin() + (i + 1) * kObservationSize);
    EXPECT_EQ(row, expected);
  }
}

TEST_F(BatchMakerTest, ObservationsShowTheIncumbentThatTheGameShowed) {
  const PlayedProgram& program = (*set_)[0];
  const IndexVector<AccessIndex, uint8_t> in_fast_memory(program.rules().access_count(), 1);
  v1::Trajectory game = *games_[1];
  game.mutable_incumbent()->set_in_fast_memory(FastMemoryBits(in_fast_memory));
  game.mutable_incumbent()->set_window_end(5);
  for (int d = 0; d < game.accesses_size(); ++d) {
    game.mutable_incumbent()->add_leads(0.25F * static_cast<float>(d));
  }
  games_[1] = std::make_shared<const v1::Trajectory>(game);
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(1, 2)}, batch).ok());
  Game again(program.rules());
  for (int d = 0; d < 2; ++d) again.Apply(static_cast<Action>(game.actions()[d]));
  const ShownIncumbent shown = {.in_fast_memory = in_fast_memory, .lead = 0.5F, .window_end = 5};
  std::vector<float> expected(kObservationSize);
  ObservationWriter(program.tables()).Write(again, absl::MakeSpan(expected), &shown);
  EXPECT_EQ(batch.observations, expected);
}

TEST_F(BatchMakerTest, PositionsReachedAreThoseOfTheGameWhereConsistencyAsksForThem) {
  const uint32_t length = games_[1]->accesses_size();
  // Some rows overlap, and the second step of row 1 reaches the end of the game.
  const std::vector<BatchRow> rows = {Row(1, 7), Row(1, length - 3), Row(1, 6), Row(1, 7)};
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill(rows, batch).ok());
  EXPECT_TRUE(batch.next_observations.empty());
  EXPECT_TRUE(batch.reached.empty());
  const UnrollBatch without = batch;
  options_.set_consistency_weight(1);
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill(rows, batch).ok());
  EXPECT_EQ(batch.observations, without.observations);
  EXPECT_EQ(batch.values, without.values);
  // Rows drawn at the reached positions give the expected observations.
  std::vector<BatchRow> behind;
  for (const BatchRow& row : rows) {
    for (uint32_t k = 1; k <= 3; ++k) {
      behind.push_back(Row(1, std::min(row.drawn.position + k, length - 1)));
    }
  }
  options_.set_consistency_weight(0);
  UnrollBatch expected;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill(behind, expected).ok());
  // Position length - 3 is followed by only two decisions.
  EXPECT_EQ(batch.reached, std::vector<float>({1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1}));
  std::fill_n(expected.observations.begin() + 5 * kObservationSize, kObservationSize, 0.0F);
  EXPECT_EQ(batch.next_observations, expected.observations);
}

TEST_F(BatchMakerTest, AValueIsTheSumOfTheRewardsThatFollow) {
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(2, 3)}, batch).ok());
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(batch.values[k], ValueAt(2, 3 + k), 1e-4);
    EXPECT_NEAR(batch.values[k], batch.rewards[k] + batch.values[k + 1], 1e-4);
    EXPECT_EQ(batch.actions[k], games_[2]->actions()[3 + k]);
  }
}

TEST_F(BatchMakerTest, PoliciesAreThereWhereASearchWas) {
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(0, 4)}, batch).ok());
  for (size_t k = 0; k <= 3; ++k) EXPECT_EQ(batch.policies[3 * k], k % 2 == 0 ? 0.5F : 0.0F);
}

TEST_F(BatchMakerTest, AnImitatedRowTeachesWhatWasDone) {
  BatchRow row = Row(0, 5);
  row.imitate = true;
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({row}, batch).ok());
  for (int k = 0; k <= 3; ++k) {
    for (int a = 0; a < 3; ++a) {
      EXPECT_EQ(batch.policies[3 * k + a], a == games_[0]->actions()[5 + k] ? 1.0F : 0.0F);
    }
  }
}

TEST_F(BatchMakerTest, NothingHappensBehindTheEnd) {
  const uint32_t last = games_[0]->accesses_size() - 1;
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(0, last)}, batch).ok());
  EXPECT_NEAR(batch.values[0], ValueAt(0, last), 1e-4);
  for (int k = 1; k <= 3; ++k) {
    EXPECT_EQ(batch.values[k], 0);
    for (int a = 0; a < 3; ++a) EXPECT_EQ(batch.policies[3 * k + a], 0);
  }
  EXPECT_EQ(batch.rewards[1], 0);
  // From the last decision on, the last reward is the whole value.
  EXPECT_NEAR(batch.rewards[0], batch.values[0], 1e-4);
}

TEST_F(BatchMakerTest, StepsBehindTheEndAreOfEveryAction) {
  const uint32_t last = games_[0]->accesses_size() - 1;
  UnrollBatch batch;
  const BatchRow row = Row(0, last);
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({row, row, row}, batch).ok());
  for (size_t k = 1; k < batch.unroll; ++k) {
    std::vector<int64_t> actions;
    for (size_t i = 0; i < 3; ++i) actions.push_back(batch.actions[i * batch.unroll + k]);
    EXPECT_THAT(actions, UnorderedElementsAre(0, 1, 2));
  }
}

TEST_F(BatchMakerTest, BootstrapsWithTheSearchedValueAfterSomeSteps) {
  options_.set_td_steps(2);
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(0, 4)}, batch).ok());
  // Position 6 was searched: its value is 2 units above the baseline.
  const v1::Trajectory& t = *games_[0];
  const double scale = baseline().scale().share();
  const double expected =
      (t.rewards(4) + t.rewards(5) + 2 * scale + baseline().At(t.accesses(6)).share() -
       baseline().At(t.accesses(4)).share()) /
      scale;
  EXPECT_NEAR(batch.values[0], expected, 1e-4);
  // Position 7 was not searched, so the value of position 5 is the sum of all rewards to the end.
  EXPECT_NEAR(batch.values[1], ValueAt(0, 5), 1e-4);
}

TEST_F(BatchMakerTest, AnImitatedRowHasItsWholeReturnHoweverFewStepsOthersCount) {
  options_.set_td_steps(2);
  BatchRow row = Row(0, 4);
  row.imitate = true;
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({row}, batch).ok());
  for (int k = 0; k <= 3; ++k) EXPECT_NEAR(batch.values[k], ValueAt(0, 4 + k), 1e-4);
}

TEST_F(BatchMakerTest, WhatIsExploredIsBlamedNeitherOnThePositionNorOnWhatWasDoneBefore) {
  options_.set_cut_at_exploration(true);
  const v1::Trajectory& t = *games_[0];
  const int length = t.accesses_size();
  // The search preferred action 0 at every second position, so other actions there were explored.
  const auto explored = [&](int d) { return d % 2 == 0 && t.actions()[d] != 0; };
  int explored_positions = 0;
  for (int d = 0; d < length; ++d) {
    int end = d;
    while (end < length && !explored(end)) ++end;
    double expected = ValueAt(0, d);
    if (end < length) {
      explored_positions += end == d ? 1 : 0;
      // The search's value of the explored position is 2. That position can be `d` itself.
      HbmShare to_go = baseline().FromNetwork(NetworkValue(2), t.accesses(end));
      for (int i = d; i < end; ++i) to_go += HbmShare(t.rewards(i));
      expected = baseline().ToNetwork(to_go, t.accesses(d)).value();
    }
    BatchRow row = Row(0, d);
    BatchRow imitated = row;
    imitated.imitate = true;
    UnrollBatch batch;
    ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({row, imitated}, batch).ok());
    EXPECT_NEAR(batch.values[0], expected, 1e-4) << d;
    // The value of an imitated row is the game's whole return, even after explored actions.
    EXPECT_NEAR(batch.values[options_.unroll_steps() + 1], ValueAt(0, d), 1e-4) << d;
  }
  EXPECT_GT(explored_positions, 2);
  EXPECT_LT(explored_positions, length);
}

TEST_F(BatchMakerTest, RewardsCountUpToTheFirstOfExplorationAndTheSteps) {
  constexpr int kSteps = 4;
  options_.set_cut_at_exploration(true);
  options_.set_td_steps(kSteps);
  const v1::Trajectory& t = *games_[0];
  const int length = t.accesses_size();
  const auto searched = [](int d) { return d % 2 == 0; };
  const auto explored = [&](int d) { return searched(d) && t.actions()[d] != 0; };
  int by_exploration = 0;
  int by_steps = 0;
  for (int d = 0; d < length; ++d) {
    const auto cut = [&](int end) { return explored(end) || (end == d + kSteps && searched(end)); };
    int end = d;
    while (end < length && !cut(end)) ++end;
    double expected = ValueAt(0, d);
    if (end < length) {
      ++(end == d + kSteps && !explored(end) ? by_steps : by_exploration);
      HbmShare to_go = baseline().FromNetwork(NetworkValue(2), t.accesses(end));
      for (int i = d; i < end; ++i) to_go += HbmShare(t.rewards(i));
      expected = baseline().ToNetwork(to_go, t.accesses(d)).value();
    }
    UnrollBatch batch;
    ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(0, d)}, batch).ok());
    EXPECT_NEAR(batch.values[0], expected, 1e-4) << d;
  }
  EXPECT_GT(by_exploration, 2);
  EXPECT_GT(by_steps, 0);
}

TEST_F(BatchMakerTest, ASearchedValueMeansWhatItMeantWhenTheGameWasSearched) {
  options_.set_td_steps(2);
  v1::Trajectory searched = *games_[0];
  NoteSearchedReturns(baseline(), searched);
  const HbmShare then = baseline().FromNetwork(NetworkValue(2), searched.accesses(6));
  games_[0] = std::make_shared<const v1::Trajectory>(searched);
  // One game is added many times: the baseline moves to its returns, and the scale falls.
  ReturnBaseline& moved = baselines_.begin()->second;
  const HbmShare scale_then = moved.scale();
  for (int g = 0; g < 100; ++g) moved.Add(*games_[1]);
  moved.Refresh();
  ASSERT_LT(moved.scale(), 0.5 * scale_then);
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(0, 4)}, batch).ok());
  const HbmShare to_go = HbmShare(searched.rewards(4)) + HbmShare(searched.rewards(5)) + then;
  EXPECT_NEAR(batch.values[0], moved.ToNetwork(to_go, searched.accesses(4)).value(), 1e-3);
}

TEST_F(BatchMakerTest, StepsBeyondEveryGameAreTheWholeGame) {
  options_.set_td_steps(std::numeric_limits<int32_t>::max());
  UnrollBatch batch;
  ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(0, 4)}, batch).ok());
  EXPECT_NEAR(batch.values[0], ValueAt(0, 4), 1e-4);
  EXPECT_NEAR(batch.values[1], ValueAt(0, 5), 1e-4);
}

TEST_F(BatchMakerTest, RankedValuesAreTheOutcomeAndTheOnlyRewardIsAtTheEnd) {
  const PlayedProgram& program = (*set_)[0];
  ReturnBaseline ranked(program.rules().access_count(), 0.5);
  for (const SharedTrajectory& game : games_) ranked.Add(*game);
  ranked.Refresh();
  // The quantile 0.5 of the four returns is the second worst, which the two best games beat.
  std::vector<int> order = {0, 1, 2, 3};
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return TotalReturn(*games_[a]) > TotalReturn(*games_[b]); });
  ASSERT_GT(TotalReturn(*games_[order[1]]), TotalReturn(*games_[order[2]]) + HbmShare(1e-6));
  ASSERT_GT(TotalReturn(*games_[order[2]]), TotalReturn(*games_[order[3]]) + HbmShare(1e-6));
  baselines_.clear();
  baselines_.emplace(program.sha256(), std::move(ranked));
  for (const auto& [game, outcome] : {std::pair(order[0], 1.0F), std::pair(order[3], -1.0F)}) {
    const uint32_t length = games_[game]->accesses_size();
    UnrollBatch batch;
    ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1)
                    .Fill({Row(game, 2), Row(game, length - 2)}, batch)
                    .ok());
    EXPECT_EQ(batch.values, std::vector<float>({outcome, outcome, outcome, outcome,  //
                                                outcome, outcome, 0, 0}));
    EXPECT_EQ(batch.rewards, std::vector<float>({0, 0, 0, 0, outcome, 0}));
    // The search gave position 6 the value 2, which is clamped to the largest outcome, 1.
    options_.set_td_steps(4);
    ASSERT_TRUE(BatchMaker(*set_, baselines_, options_, 1).Fill({Row(game, 2)}, batch).ok());
    EXPECT_EQ(batch.values, std::vector<float>({1, outcome, 1, outcome}));
    options_.set_td_steps(0);
  }
}

TEST_F(BatchMakerTest, RefusesAGameThatTheRulesDoNotPlay) {
  v1::Trajectory wrong = *games_[0];
  wrong.set_accesses(6, wrong.accesses(6) + 1);
  BatchRow row = Row(0, 9);
  row.drawn.trajectory = std::make_shared<const v1::Trajectory>(wrong);
  UnrollBatch batch;
  const BatchMaker maker(*set_, baselines_, options_, 1);
  EXPECT_THAT(maker.Fill({row}, batch).message(), HasSubstr("decision 6 of a stored game"));
  wrong.set_program_sha256("another");
  row.drawn.trajectory = std::make_shared<const v1::Trajectory>(wrong);
  EXPECT_THAT(maker.Fill({row}, batch).message(), HasSubstr("not in this run"));
}

}  // namespace
}  // namespace mallocmuzero
