#include "actor/role/round_player.h"

#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "actor/role/actor_state.h"
#include "actor/role/assigned_programs.h"
#include "actor/role/candidate_games.h"
#include "actor/role/incumbent_games.h"
#include "actor/role/play_block.h"
#include "base/steady_clock.h"
#include "env/testing/random_program_set.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/network.h"
#include "model/network_config.h"
#include "replay/client/replay_writer.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

// Otherwise an actor that waits would fetch every version of the weights.
TEST(RoundPlayer, WeightsStayUnusedWhileTheSpoolIsFull) {
  v1::Assignment assignment;
  assignment.set_version(1);
  ActorState state(/*max_policy_lag=*/10);
  state.SetAssigned(std::make_shared<const AssignedPrograms>(
      AssignedPrograms{.assignment = assignment, .programs = testing::RandomProgramSet(11, 1)}));
  const auto network = *Network::Create(*NetworkPreset("tiny"), 1);
  state.SetNetwork(*network->Snapshot({}), 5);
  v1::ActorOrders orders;
  orders.set_step(5);
  orders.set_assignment_version(1);
  state.SetOrders(orders, SteadyNow());
  ASSERT_FALSE(state.WantsNetwork());

  // No shard takes this game.
  const absl::StatusOr<std::unique_ptr<ReplayWriter>> writer =
      ReplayWriter::Start({.shards = {{.name = "a", .address = "127.0.0.1:1"}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  v1::Trajectory game;
  game.set_id(std::string(16, 'i'));
  game.set_program_sha256(std::string(32, 'p'));
  game.mutable_actions()->push_back(0);
  ASSERT_TRUE((*writer)->Write(game));

  CandidateGames candidate(0);
  IncumbentGames incumbents;
  RoundPlayer player(
      {.spool_bytes = 1},
      {.state = state, .candidate = candidate, .incumbents = incumbents, .writer = **writer});
  absl::Notification stop;
  absl::Status played;
  std::thread thread([&] { played = player.Run(stop); });
  EXPECT_TRUE(testing::Await([&] { return state.blocked().on == PlayBlock::On::kSpool; }));
  stop.Notify();
  thread.join();
  EXPECT_EQ(played, absl::OkStatus());
  EXPECT_FALSE(state.WantsNetwork());
}

}  // namespace
}  // namespace mallocmuzero
