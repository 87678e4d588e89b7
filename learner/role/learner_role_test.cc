// Tests of a learner, actors and replay shards together, on 127.0.0.1.

#include "learner/role/learner_role.h"

#include <prometheus/text_serializer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actor/demonstrations.h"
#include "actor/role/actor_role.h"
#include "base/message_file.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/role/testing/small_cluster.h"
#include "learner/run_directory.h"
#include "learner/run_lock.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "model/checkpoint.h"
#include "replay/service/testing/disk_faults.h"
#include "replay/testing/shards.h"
#include "rpc/channel.h"
#include "rpc/testing/await.h"
#include "rpc/testing/free_port.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Cluster = testing::SmallCluster;

// A stop may take longer than its grace on a busy machine, but not as long as this.
constexpr absl::Duration kSoon = absl::Minutes(1);

TEST_F(Cluster, LearnsFromActorsAndLeavesARun) {
  config_.mutable_actor()->set_threads(2);
  config_.mutable_learner()->set_threads(2);
  StartShard();
  StartLearner();
  std::unique_ptr<ActorRole> actors[] = {StartActor(0), StartActor(1)};
  EXPECT_TRUE(Learns(20));
  // Both actors play with weights that were learned from their games.
  for (const auto& actor : actors) {
    EXPECT_TRUE(Await([&] { return actor->network_step() >= 4; }));
    EXPECT_GT(actor->games(), 0);
    EXPECT_EQ(actor->ready(), absl::OkStatus());
  }
  // Actors report every two seconds, so this may take a while. A learner that has made no update
  // for two seconds waits for games.
  v1::RoleStatus status;
  EXPECT_TRUE(Await([&] {
    status = LearnerStatus();
    double games = 0;
    for (const v1::RoleStatus& peer : status.peers()) games += peer.figures().at("games");
    return games > 50 && status.figures().at("games_seen") > 0 && status.blocked_on().empty();
  }));
  EXPECT_EQ(status.role(), v1::RoleStatus::LEARNER);
  ASSERT_EQ(status.peers_size(), 2);
  EXPECT_EQ(status.peers(0).role(), v1::RoleStatus::ACTOR);
  for (const auto& actor : actors) {
    const absl::Time start = absl::Now();
    EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
    EXPECT_LT(absl::Now() - start, kSoon);
  }
  // Calls during the stop are answered or refused, and must not crash the learner.
  std::atomic<bool> stopped = false;
  std::thread asks([&, stub = v1::Status::NewStub(MakeChannel(learner_->address(), *security_))] {
    while (!stopped) {
      grpc::ClientContext context;
      PrepareCall(context, *security_, absl::Seconds(5));
      v1::RoleStatus answer;
      (void)stub->GetStatus(&context, v1::GetStatusRequest(), &answer);
    }
  });
  EXPECT_EQ(RunLock::Acquire(folder_ + "/run").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  stopped = true;
  asks.join();

  const auto checkpoint = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->step, learner_->step());
  const auto metrics = RunDirectory::Open(folder_ + "/run")->ReadMetrics();
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ(metrics->back().updates(), static_cast<double>(learner_->step()));
  // Each line counts from the line before, so the sums do not exceed the totals.
  double simulations = 0;
  double learn_seconds = 0;
  for (const v1::TrainMetrics& line : *metrics) {
    simulations += line.simulations();
    learn_seconds += line.learn_seconds();
  }
  EXPECT_GT(simulations, 0);
  EXPECT_GT(learn_seconds, 0);
  EXPECT_LE(learn_seconds, metrics->back().seconds());
  EXPECT_GT(metrics->back().games(), 0);
  ASSERT_EQ(metrics->back().programs_size(), 2);
  for (const v1::TrainMetrics::Program& program : metrics->back().programs()) {
    EXPECT_TRUE(program.has_mean_return());
    EXPECT_TRUE(program.has_policy_return());
    bool found = false;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/run/best")) {
      found = found || entry.path().filename() == program.name() + ".mapping";
    }
    EXPECT_TRUE(found) << program.name();
  }
}

TEST_F(Cluster, ActorsShowWhatSolversPlay) {
  config_.mutable_learner()->set_demonstration_seconds(0.05);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actors[] = {StartActor(0), StartActor(1)};
  EXPECT_TRUE(Await([&] {
    v1::TrainState state;
    const auto checkpoint = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
    EXPECT_TRUE(checkpoint.ok() && state.ParseFromString(checkpoint->training_state));
    return state.programs_size() == 2 && state.programs(0).demonstrated() &&
           state.programs(1).demonstrated();
  }));
  std::set<std::string> shown;
  for (size_t p = 0; p < programs_.size(); ++p) {
    for (size_t teacher = 0; teacher < Teachers().size(); ++teacher) {
      shown.insert(DemonstrationId(programs_[p], teacher));
    }
  }
  EXPECT_TRUE(Await([&] { return absl::c_includes(ListIds(shard_->address()), shown); }));
  EXPECT_TRUE(Learns(20));
}

TEST_F(Cluster, AnActorThatShowsSolversGamesSaysSo) {
  config_.mutable_learner()->set_demonstration_seconds(1000);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  EXPECT_TRUE(Await([&] {
    const v1::RoleStatus status = LearnerStatus();
    return status.peers_size() == 1 && status.peers(0).blocked_on() == "showing solvers' games";
  }));
  EXPECT_TRUE(LearnerStatus().peers(0).flow_control());  // this is no fault
}

TEST_F(Cluster, EveryPartMayStartAgain) {
  StartShard();
  StartLearner();
  std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(8));
  // The shard restarts. Its games are lost, but the actor's next ones are stored.
  shard_ = nullptr;
  EXPECT_TRUE(Await([&] { return !LearnerStatus().blocked_on().empty(); }));
  EXPECT_FALSE(LearnerStatus().flow_control());
  EXPECT_TRUE(Await([&] {
    return absl::StrContains(prometheus::TextSerializer().Serialize(registry_.Collect()),
                             "mallocmuzero_learner_blocked{on=\"replay\"} 1");
  }));
  StartShard();
  EXPECT_TRUE(Learns(8));
  // The learner restarts and continues from its checkpoint; the actor takes its weights.
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  const uint64_t stopped_at = learner_->step();
  learner_ = nullptr;
  StartLearner();
  EXPECT_GE(learner_->step(), stopped_at);
  EXPECT_TRUE(Learns(8));
  EXPECT_TRUE(Await([&] { return actor->network_step() > stopped_at; }));
  // The actor restarts.
  EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
  actor = StartActor(0);
  EXPECT_TRUE(Await([&] { return actor->games() > 0; }));
  EXPECT_TRUE(Learns(8));
}

TEST_F(Cluster, AnActorFollowsTheLearnerThatTakesAnothersPlace) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Await([&] { return actor->network_step() >= 8; }));
  learner_ = nullptr;
  config_.mutable_learner()->set_run_dir(folder_ + "/another_run");
  config_.mutable_learner()->set_seed(4);
  shard_ = nullptr;  // so that the new learner has no games and stays at step 0
  StartLearner();
  EXPECT_TRUE(Await([&] { return actor->network_step() == 0; }));
  EXPECT_TRUE(Await([&] { return LearnerStatus().peers_size() == 1; }));
}

TEST_F(Cluster, AnActorPlaysTheProgramsOfALearnerThatStartsAgainWithOthers) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(4));
  learner_ = nullptr;
  const ProgramSet others = testing::RandomProgramSet(12, 1);
  const std::string path = folder_ + "/another.program";
  ASSERT_TRUE(WriteMessage(path, others[0].program().proto()).ok());
  config_.mutable_learner()->set_workloads(0, path);
  // The new shard is empty, since games of the earlier programs would be refused.
  shard_ = nullptr;
  StartShard();
  StartLearner();
  EXPECT_TRUE(Learns(4));
}

TEST_F(Cluster, TheNewestWeightsAreThoseOfTheCheckpointAfterALearnersDeath) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  const std::string path = folder_ + "/run/checkpoints/latest";
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(path); }));
  ASSERT_TRUE(Learns(4));
  learner_ = nullptr;  // without Stop nothing is saved
  const auto checkpoint = LoadCheckpoint(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  StartLearner();
  EXPECT_GE(learner_->step(), checkpoint->step);
  EXPECT_TRUE(Learns(4));
}

TEST_F(Cluster, StoredGamesAreSearchedAgain) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(8));
  const std::unique_ptr<ActorRole> reanalyser = StartActor(0, true);
  EXPECT_TRUE(Await([&] { return reanalyser->games() >= 8; }));
  EXPECT_TRUE(Await([&] {
    const v1::RoleStatus status = LearnerStatus();
    for (const v1::RoleStatus& peer : status.peers()) {
      if (peer.role() == v1::RoleStatus::REANALYSE) return true;
    }
    return false;
  }));
  EXPECT_EQ(reanalyser->Stop(absl::Seconds(5)), absl::OkStatus());
}

TEST_F(Cluster, GamesDoNotGrowOldBehindAShardThatHoldsThemBack) {
  v1::RateLimit& limit = *config_.mutable_replay(0)->mutable_rate_limit();
  limit.set_samples_per_insert(8);  // far more draws than the learner makes for one actor's games
  limit.set_error_buffer(2000);
  config_.mutable_replay(0)->set_max_positions(4000);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Await([&] { return actor->blocked().flow_control; }));
  // One thread plays rounds of four games. One round may be on its way and another one just played.
  for (int look = 0; look < 20; ++look) {
    ASSERT_TRUE(Learns(5));
    const auto played = static_cast<int64_t>(actor->games());
    EXPECT_LE(played - static_cast<int64_t>(shard_->Stats().inserted_items()), 8);
  }
  // So the games learned from are recent, and the learner reports their age.
  EXPECT_TRUE(Await([&] { return LearnerStatus().figures().contains("drawn_age"); }));
  EXPECT_LE(LearnerStatus().figures().at("drawn_age"), static_cast<double>(learner_->step()));
}

TEST_F(Cluster, WithoutReplayAnActorFillsItsSpoolStopsPlayingAndWritesItDown) {
  config_.mutable_replay(0)->set_address("127.0.0.1:1");
  config_.mutable_actor()->set_spool_bytes(20'000);
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  EXPECT_TRUE(Await([&] { return actor->blocked().on == PlayBlock::On::kSpool; }));
  EXPECT_TRUE(Await([&] { return LearnerStatus().peers_size() == 1; }));
  EXPECT_TRUE(Await([&] { return !LearnerStatus().peers(0).blocked_on().empty(); }));
  EXPECT_FALSE(LearnerStatus().peers(0).flow_control());
  const absl::Time start = absl::Now();
  EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
  EXPECT_LT(absl::Now() - start, kSoon);
  EXPECT_FALSE(std::filesystem::is_empty(folder_ + "/spool"));
}

TEST_F(Cluster, AShardThatAnActorMissesIsToldBeforeItsSpoolIsFull) {
  config_.mutable_replay(0)->set_address("127.0.0.1:1");
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  EXPECT_TRUE(Await([&] {
    const v1::RoleStatus status = LearnerStatus();
    return status.peers_size() == 1 && !status.peers(0).trouble().empty();
  }));
  EXPECT_EQ(actor->blocked().on, PlayBlock::On::kNothing);
  EXPECT_THAT(LearnerStatus().peers(0).trouble(), StartsWith("shard replay-0: Connection refused"));
  EXPECT_EQ(actor->peers().front().name, "shard replay-0 on 127.0.0.1:1");
  EXPECT_EQ(actor->peers().front().trouble, "Connection refused");
}

TEST_F(Cluster, TwoActorsOfOneIndexAreOneTooMany) {
  StartShard();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  const absl::Status second =
      ActorRole::Start(config_, 0, /*reanalyse=*/false, security_, registry_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(second.message()), StartsWith("--index: 0: "));
}

TEST_F(Cluster, AnActorThatStopsSaysGoodbye) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(3);
  ASSERT_TRUE(Await([&] { return LearnerStatus().peers_size() == 1; }));
  EXPECT_THAT(LearnerStatus().peers(0).name(), StartsWith("actor.3@"));
  EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
  EXPECT_EQ(LearnerStatus().peers_size(), 0);
}

TEST_F(Cluster, WithoutALearnerAnActorWaitsAndStopsAtOnce) {
  config_.mutable_learner()->set_address("127.0.0.1:1");
  StartShard();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  EXPECT_EQ(actor->blocked().on, PlayBlock::On::kLearner);
  EXPECT_TRUE(Await([&] { return ToString(actor->blocked()) == "learner: Connection refused"; }));
  EXPECT_EQ(actor->peers().back().trouble, "Connection refused");
  const absl::Time start = absl::Now();
  EXPECT_EQ(actor->Stop(absl::Minutes(4)), absl::OkStatus());
  EXPECT_LT(absl::Now() - start, kSoon);
}

TEST_F(Cluster, AStopSavesHoweverLongTheUpdateInProgressTakes) {
  StartShard();
  StartLearner();
  const std::string checkpoint = folder_ + "/run/checkpoints/latest";
  std::filesystem::remove(checkpoint);
  EXPECT_EQ(learner_->Stop(absl::ZeroDuration()), absl::OkStatus());
  EXPECT_TRUE(std::filesystem::exists(checkpoint));
}

TEST_F(Cluster, ADiskThatHangsWhileTheLearnerSavesShowsWithinTenSeconds) {
  StartShard();
  StartLearner();
  EXPECT_EQ(learner_->health(), absl::OkStatus());
  disk_faults::Hang(folder_ + "/run");
  const absl::Cleanup release = [] { disk_faults::Release(); };
  const auto hangs = [&] {
    return absl::StrContains(LearnerStatus().blocked_on(), "disk: no answer");
  };
  ASSERT_TRUE(Await(hangs));
  EXPECT_THAT(learner_->health().message(), HasSubstr("disk: no answer"));
  disk_faults::Release();
  EXPECT_TRUE(Await([&] { return learner_->health().ok(); }));
}

TEST_F(Cluster, ASaveThatTakesLongLosesNoProcess) {
  config_.mutable_learner()->set_processes(2);
  config_.mutable_learner()->set_rendezvous_address(testing::FreeAddress());
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  prometheus::Registry registry;
  auto second = LearnerRole::Start(config_, 1, security_, registry);
  ASSERT_TRUE(second.ok()) << second.status();
  ASSERT_TRUE(Learns(8));
  // The disk hangs for seven seconds, and the processes would lose each other after four.
  disk_faults::Hang(folder_ + "/run");
  const absl::Cleanup release = [] { disk_faults::Release(); };
  ASSERT_TRUE(Await([&] { return !learner_->health().ok(); }));
  disk_faults::Release();
  EXPECT_TRUE(Learns(8));
  for (const LearnerRole* process : {learner_.get(), second->get()}) {
    for (const PeerState& peer : process->peers()) EXPECT_EQ(peer.losses, 0) << peer.last_loss;
  }
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
}

TEST_F(Cluster, TwoProcessesTrainTogetherAndMeetAgain) {
  config_.mutable_learner()->set_processes(2);
  config_.mutable_learner()->set_rendezvous_address(testing::FreeAddress());
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  // Process 0 serves without the second process but makes no updates.
  EXPECT_TRUE(Await([&] { return actor->games() > 0; }));
  EXPECT_EQ(learner_->step(), 0);
  prometheus::Registry registry;
  for (int life = 0; life < 2; ++life) {
    auto second = LearnerRole::Start(config_, 1, security_, registry);
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_TRUE(Learns(8));
    EXPECT_TRUE(Await([&] { return (*second)->step() + 2 > learner_->step(); }));
    EXPECT_EQ((*second)->status(), absl::OkStatus());
  }
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
}

}  // namespace
}  // namespace mallocmuzero
