#include "actor/role/actor_state.h"

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kMaxLag = 10;

v1::ActorOrders Orders(uint64_t step, uint64_t version) {
  v1::ActorOrders orders;
  orders.set_step(step);
  orders.set_assignment_version(version);
  orders.add_program_weights(1);
  return orders;
}

v1::Trajectory GameOf(const std::string& program, double value) {
  v1::Trajectory game;
  game.set_program_sha256(program);
  game.set_initial_return(value);
  return game;
}

class ActorStateTest : public ::testing::Test {
 protected:
  void Assign(uint64_t version) {
    v1::Assignment assignment;
    assignment.set_version(version);
    state_.SetAssigned(std::make_shared<const AssignedPrograms>(
        AssignedPrograms{.assignment = assignment, .programs = testing::RandomProgramSet(11, 1)}));
  }

  void SetNetwork(uint64_t step) {
    const auto network = *Network::Create(*NetworkPreset("tiny"), 1);
    state_.SetNetwork(*network->Snapshot({}), step);
  }

  const absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  ActorState state_{kMaxLag};
};

TEST_F(ActorStateTest, PlaysOnceItHasProgramsWeightsAndOrders) {
  EXPECT_FALSE(state_.NextRound(now_).has_value());
  Assign(3);
  EXPECT_FALSE(state_.NextRound(now_).has_value());
  SetNetwork(5);
  EXPECT_FALSE(state_.NextRound(now_).has_value());
  state_.SetOrders(Orders(5, 3), now_);
  const auto inputs = state_.NextRound(now_);
  ASSERT_TRUE(inputs.has_value());
  EXPECT_EQ(inputs->step, 5);
  EXPECT_THAT(inputs->program_weights, ElementsAre(1));
}

TEST_F(ActorStateTest, WantsWeightsWhenItHasPlayedWithThoseItHas) {
  EXPECT_TRUE(state_.WantsNetwork());
  Assign(1);
  SetNetwork(5);
  state_.SetOrders(Orders(5, 1), now_);
  EXPECT_FALSE(state_.WantsNetwork());
  EXPECT_TRUE(state_.NextRound(now_).has_value());
  EXPECT_TRUE(state_.WantsNetwork());
  SetNetwork(6);
  EXPECT_FALSE(state_.WantsNetwork());
  state_.SetOrders(Orders(7 + kMaxLag, 1), now_);
  EXPECT_TRUE(state_.WantsNetwork());  // it cannot play with those it has
}

TEST_F(ActorStateTest, OrdersForAnotherAssignmentAreNotFollowed) {
  Assign(3);
  SetNetwork(5);
  state_.SetOrders(Orders(5, 4), now_);
  EXPECT_TRUE(state_.NextRound(now_)->program_weights.empty());
}

TEST_F(ActorStateTest, NewProgramsAreNotDrawnByTheWeightsOfTheOldOnes) {
  Assign(3);
  SetNetwork(5);
  state_.SetOrders(Orders(5, 3), now_);
  Assign(4);
  const auto inputs = state_.NextRound(now_);
  ASSERT_TRUE(inputs.has_value());
  EXPECT_THAT(inputs->program_weights, IsEmpty());
}

TEST_F(ActorStateTest, WeightsTooFarBehindAreNotPlayedWith) {
  Assign(1);
  SetNetwork(5);
  state_.SetOrders(Orders(5 + kMaxLag, 1), now_);
  EXPECT_EQ(state_.policy_lag(), kMaxLag);
  EXPECT_TRUE(state_.NextRound(now_).has_value());
  state_.SetOrders(Orders(6 + kMaxLag, 1), now_);
  EXPECT_FALSE(state_.NextRound(now_).has_value());
  SetNetwork(6 + kMaxLag);
  EXPECT_TRUE(state_.NextRound(now_).has_value());
  // A restarted learner may continue from an older checkpoint.
  state_.SetOrders(Orders(2, 1), now_);
  EXPECT_EQ(state_.policy_lag(), 0);
}

TEST_F(ActorStateTest, WeightsThatWereLongOnTheirWayAreNotTheNewest) {
  Assign(1);
  state_.SetOrders(Orders(6 + kMaxLag, 1), now_);
  SetNetwork(5);
  EXPECT_EQ(state_.policy_lag(), 1 + kMaxLag);
  EXPECT_FALSE(state_.NextRound(now_).has_value());
  EXPECT_TRUE(state_.WantsNetwork());
}

TEST_F(ActorStateTest, ALearnerThatIsAwayIsWaitedForAfterAWhile) {
  Assign(1);
  SetNetwork(5);
  state_.SetOrders(Orders(5, 1), now_);
  EXPECT_TRUE(state_.NextRound(now_ + kLearnerAwayPatience).has_value());
  EXPECT_FALSE(state_.NextRound(now_ + kLearnerAwayPatience + absl::Seconds(1)).has_value());
}

// The learner may have counted them, although its answer was lost.
TEST_F(ActorStateTest, OutcomesWithoutAnAnswerAreReportedOnceMoreAsTheyWere) {
  state_.AddRound({}, {GameOf("p", 0.25), GameOf("p", 0.75)});
  v1::ActorReport report;
  state_.TakeOutcomes(report);
  ASSERT_EQ(report.outcomes_size(), 1);
  EXPECT_EQ(report.outcomes(0).games(), 2);
  EXPECT_DOUBLE_EQ(report.outcomes(0).mean_return(), 0.5);
  EXPECT_DOUBLE_EQ(report.outcomes(0).best_return(), 0.75);
  state_.PutBackOutcomes(report);
  state_.AddRound({}, {GameOf("p", 2)});
  v1::ActorReport again;
  state_.TakeOutcomes(again);
  EXPECT_EQ(again.SerializeAsString(), report.SerializeAsString());
  v1::ActorReport next;
  state_.TakeOutcomes(next);
  ASSERT_EQ(next.outcomes_size(), 1);
  EXPECT_EQ(next.outcomes(0).games(), 1);
  EXPECT_DOUBLE_EQ(next.outcomes(0).mean_return(), 2);
  EXPECT_GT(next.outcomes_number(), report.outcomes_number());
  v1::ActorReport last;
  state_.TakeOutcomes(last);
  EXPECT_EQ(last.outcomes_size(), 0);
}

TEST_F(ActorStateTest, ShowsEachProgramOnceAndSaysSoUntilTheLearnerKnows) {
  Assign(1);
  SetNetwork(5);
  v1::ActorOrders orders = Orders(5, 1);
  orders.add_demonstrate(7);  // there is no such program
  orders.add_demonstrate(0);
  state_.SetOrders(orders, now_);
  const std::shared_ptr<const AssignedPrograms> assigned = state_.NextRound(now_)->assigned;
  const AssignedPrograms before = {.programs = testing::RandomProgramSet(12, 1)};
  EXPECT_EQ(state_.TakeUndemonstrated(before), nullptr);
  const PlayedProgram* program = state_.TakeUndemonstrated(*assigned);
  ASSERT_EQ(program, &assigned->programs[0]);
  EXPECT_EQ(state_.TakeUndemonstrated(*assigned), nullptr);
  const auto reported = [&] {
    v1::ActorReport report;
    state_.TakeOutcomes(report);
    return report;
  };
  EXPECT_EQ(reported().demonstrated_size(), 0);  // not handed over yet
  state_.AddDemonstrated(program->sha256());
  const v1::ActorReport lost = reported();
  EXPECT_THAT(lost.demonstrated(), ElementsAre(program->sha256()));
  EXPECT_EQ(reported().demonstrated_size(), 0);
  state_.PutBackOutcomes(lost);
  EXPECT_EQ(reported().demonstrated_size(), 1);
  EXPECT_EQ(state_.TakeUndemonstrated(*assigned), nullptr);
  // A learner that knows the report asks again, because the demonstrations never arrived.
  state_.SetOrders(orders, now_);
  EXPECT_EQ(state_.TakeUndemonstrated(*assigned), program);
  EXPECT_EQ(state_.TakeUndemonstrated(*assigned), nullptr);
}

TEST_F(ActorStateTest, WhatIsBeingShownOrNotYetReportedIsNotShownAgain) {
  Assign(1);
  SetNetwork(5);
  v1::ActorOrders orders = Orders(5, 1);
  orders.add_demonstrate(0);
  state_.SetOrders(orders, now_);
  const std::shared_ptr<const AssignedPrograms> assigned = state_.NextRound(now_)->assigned;
  const PlayedProgram* program = state_.TakeUndemonstrated(*assigned);
  ASSERT_NE(program, nullptr);
  state_.SetOrders(orders, now_);
  EXPECT_EQ(state_.TakeUndemonstrated(*assigned), nullptr);
  state_.AddDemonstrated(program->sha256());
  state_.SetOrders(orders, now_);
  EXPECT_EQ(state_.TakeUndemonstrated(*assigned), nullptr);
}

TEST_F(ActorStateTest, IsBlockedWhenAllItsThreadsAre) {
  state_.SetBlocked(0, {.on = PlayBlock::On::kLearner});
  state_.SetBlocked(1, {});
  EXPECT_EQ(ToString(state_.blocked()), "");
  state_.SetBlocked(1, {.on = PlayBlock::On::kSpool, .why = "full", .flow_control = true});
  EXPECT_EQ(ToString(state_.blocked()), "spool: full");
  EXPECT_TRUE(state_.blocked().flow_control);
}

}  // namespace
}  // namespace mallocmuzero
