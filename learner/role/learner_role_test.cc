// Learner, actors and replay shards together, on loopback.

#include "learner/role/learner_role.h"

#include <prometheus/registry.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actor/role/actor_role.h"
#include "actor/role/synthetic_actor.h"
#include "env/program_set.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "model/checkpoint.h"
#include "model/network_config.h"
#include "replay/service/replay_shard.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "simulator/core/file_io.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kTimeout = absl::Seconds(60);

bool Await(const std::function<bool()>& there, absl::Duration timeout = kTimeout) {
  const absl::Time start = absl::Now();
  while (!there()) {
    if (absl::Now() - start > timeout) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

v1::LearnerOptions SmallLearner() {
  v1::LearnerOptions options;
  options.set_batch_size(16);
  options.set_unroll_steps(2);
  options.set_samples_per_insert(1);
  options.set_best_share(0.25F);
  options.set_learning_rate(1e-3F);
  options.set_max_gradient_norm(5);
  options.set_value_weight(0.5F);
  options.set_reward_weight(0.5F);
  return options;
}

// A small cluster, part by part.
class ClusterTest : public ::testing::Test {
 protected:
  ClusterTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/programs");
    std::mt19937_64 random(11);
    for (int found = 0; found < 2;) {
      v1::Program proto = testing::RandomGameProgram(random).proto();
      proto.set_name(absl::StrCat("program_", found));
      SealProgram(proto);
      const auto played = PlayedProgram::Create(*Program::FromProto(proto));
      if (!played.ok() || (*played)->decisions() < 8 || (*played)->decisions() > 40) continue;
      EXPECT_TRUE(
          WriteMessage(absl::StrCat(folder_, "/programs/", proto.name(), ".program"), proto).ok());
      ++found;
    }
    Configure();
  }

  void Configure() {
    v1::ReplayShard& shard = *config_.add_replay();
    shard.set_name("replay-0");
    shard.set_address("127.0.0.1:0");
    shard.set_mode(v1::ReplayShard::MEMORY);
    shard.set_best_games(1);
    shard.set_priority_exponent(0.6);
    shard.mutable_rate_limit()->set_min_positions(64);
    v1::LearnerRole& learner = *config_.mutable_learner();
    learner.set_name("learner");
    learner.set_address("127.0.0.1:0");
    learner.set_run_dir(folder_ + "/run");
    learner.add_workloads(folder_ + "/programs");
    *learner.mutable_network() = *NetworkPreset("tiny");
    *learner.mutable_options() = SmallLearner();
    learner.mutable_search()->set_kind(v1::SearchOptions::GUMBEL);
    learner.mutable_search()->set_simulations(4);
    learner.mutable_search()->set_max_considered_actions(3);
    learner.mutable_search()->set_maxvisit_init(50);
    learner.mutable_search()->set_value_scale(0.1F);
    learner.set_explored_decisions(2);
    learner.set_searched_share(0.5F);
    learner.set_importance_exponent(0.4F);
    learner.set_seed(3);
    learner.set_publish_updates(4);
    learner.set_checkpoint_seconds(1);
    learner.set_processes(1);
    learner.set_prefetched_batches(2);
    learner.set_threads(1);
    v1::ActorRole& actor = *config_.mutable_actor();
    actor.set_threads(1);
    actor.set_games_in_flight(4);
    actor.set_spool_bytes(1 << 20);
    actor.set_spool_dir(folder_ + "/spool");
    actor.set_max_policy_lag(10'000);
    config_.mutable_reanalyse()->set_threads(1);
    config_.mutable_reanalyse()->set_games_in_flight(4);
  }

  void StartShard() {
    auto shard = ReplayShard::Start(config_.replay(0), security_, &registry_);
    ASSERT_TRUE(shard.ok()) << shard.status();
    shard_ = *std::move(shard);
    config_.mutable_replay(0)->set_address(shard_->address());
  }

  void StartLearner() {
    auto learner = LearnerRole::Start(config_, 0, security_, registry_);
    ASSERT_TRUE(learner.ok()) << learner.status();
    learner_ = *std::move(learner);
    config_.mutable_learner()->set_address(learner_->address());
  }

  std::unique_ptr<ActorRole> StartActor(uint32_t index, bool reanalyse = false) {
    auto actor = ActorRole::Start(config_, index, reanalyse, security_, registry_);
    EXPECT_TRUE(actor.ok()) << actor.status();
    return *std::move(actor);
  }

  v1::RoleStatus LearnerStatus() const {
    grpc::ClientContext context;
    PrepareCall(context, *security_, absl::Seconds(5));
    v1::RoleStatus status;
    const auto stub = v1::Status::NewStub(MakeChannel(learner_->address(), *security_));
    const grpc::Status called = stub->GetStatus(&context, v1::GetStatusRequest(), &status);
    EXPECT_TRUE(called.ok()) << called.error_message();
    return status;
  }

  // Waits for so many updates more.
  bool Learns(uint64_t updates) const {
    const uint64_t from = learner_->step();
    return Await([&] { return learner_->step() >= from + updates; });
  }

  const std::string folder_;
  const std::shared_ptr<const Security> security_ = std::make_shared<Security>();
  prometheus::Registry registry_;
  v1::ClusterConfig config_;
  std::unique_ptr<ReplayShard> shard_;
  std::unique_ptr<LearnerRole> learner_;
};

TEST_F(ClusterTest, LearnsFromActorsAndLeavesARun) {
  config_.mutable_actor()->set_threads(2);
  config_.mutable_learner()->set_threads(2);
  StartShard();
  StartLearner();
  std::unique_ptr<ActorRole> actors[] = {StartActor(0), StartActor(1)};
  EXPECT_TRUE(Learns(20));
  // Both play with weights that were learned from their games.
  for (const auto& actor : actors) {
    EXPECT_TRUE(Await([&] { return actor->network_step() >= 4; }));
    EXPECT_GT(actor->games(), 0);
  }
  // Reports come every two seconds.
  EXPECT_TRUE(Await([&] {
    const v1::RoleStatus status = LearnerStatus();
    double games = 0;
    for (const v1::RoleStatus& peer : status.peers()) games += peer.figures().at("games");
    return games > 50 && status.figures().at("games_seen") > 0;
  }));
  const v1::RoleStatus status = LearnerStatus();
  EXPECT_EQ(status.role(), v1::RoleStatus::LEARNER);
  EXPECT_EQ(status.blocked_on(), "");
  ASSERT_EQ(status.peers_size(), 2);
  EXPECT_EQ(status.peers(0).role(), v1::RoleStatus::ACTOR);
  for (const auto& actor : actors) {
    const absl::Time start = absl::Now();
    EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
    EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  }
  // Whoever asks meanwhile is answered or turned away.
  std::atomic<bool> stopped = false;
  std::thread asks([&, stub = v1::Status::NewStub(MakeChannel(learner_->address(), *security_))] {
    while (!stopped) {
      grpc::ClientContext context;
      PrepareCall(context, *security_, absl::Seconds(5));
      v1::RoleStatus answer;
      (void)stub->GetStatus(&context, v1::GetStatusRequest(), &answer);
    }
  });
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  stopped = true;
  asks.join();

  const auto checkpoint = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->step, learner_->step());
  const auto metrics = RunDirectory::Open(folder_ + "/run")->ReadMetrics();
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_EQ(metrics->back().updates(), static_cast<double>(learner_->step()));
  EXPECT_GT(metrics->back().games(), 0);
  ASSERT_EQ(metrics->back().programs_size(), 2);
  for (const v1::TrainMetrics::Program& program : metrics->back().programs()) {
    EXPECT_TRUE(program.has_mean_return());
    bool found = false;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ + "/run/best")) {
      found = found || entry.path().filename() == program.name() + ".mapping";
    }
    EXPECT_TRUE(found) << program.name();
  }
}

TEST_F(ClusterTest, EveryPartMayStartAgain) {
  StartShard();
  StartLearner();
  std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(8));
  // The shard: its games are gone, the actor's next ones are not.
  shard_ = nullptr;
  EXPECT_TRUE(Await([&] { return !LearnerStatus().blocked_on().empty(); }));
  StartShard();
  EXPECT_TRUE(Learns(8));
  // The learner: it goes on from its checkpoint, and the actor with its weights.
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  const uint64_t stopped_at = learner_->step();
  learner_ = nullptr;
  StartLearner();
  EXPECT_GE(learner_->step(), stopped_at);
  EXPECT_TRUE(Learns(8));
  EXPECT_TRUE(Await([&] { return actor->network_step() > stopped_at; }));
  // The actor.
  EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
  actor = StartActor(0);
  EXPECT_TRUE(Await([&] { return actor->games() > 0; }));
  EXPECT_TRUE(Learns(8));
}

TEST_F(ClusterTest, AnActorFollowsTheLearnerThatTakesAnothersPlace) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Await([&] { return actor->network_step() >= 8; }));
  learner_ = nullptr;
  config_.mutable_learner()->set_run_dir(folder_ + "/another_run");
  config_.mutable_learner()->set_seed(4);
  shard_ = nullptr;  // so that the new one has nothing to learn from, and stays at step 0
  StartLearner();
  EXPECT_TRUE(Await([&] { return actor->network_step() == 0; }));
  EXPECT_TRUE(Await([&] { return LearnerStatus().peers_size() == 1; }));
}

TEST_F(ClusterTest, TheNewestWeightsAreThoseOfTheCheckpointAfterALearnersDeath) {
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  const std::string path = folder_ + "/run/checkpoints/latest";
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(path); }));
  ASSERT_TRUE(Learns(4));
  learner_ = nullptr;  // not stopped: nothing is saved
  const auto checkpoint = LoadCheckpoint(path);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  StartLearner();
  EXPECT_GE(learner_->step(), checkpoint->step);
  EXPECT_TRUE(Learns(4));
}

TEST_F(ClusterTest, ANewRunBeginsWithTheNetworksOfACheckpoint) {
  v1::NetworkConfig config = *NetworkPreset("tiny");
  config.set_latent(2 * config.latent());
  const auto network = *Network::Create(config, 77);
  const std::string path = folder_ + "/from.checkpoint";
  ASSERT_TRUE(SaveCheckpoint(path, MakeCheckpoint(*network)).ok());
  config_.mutable_learner()->set_from(path);
  StartShard();  // stays empty, so that nothing is learnt
  StartLearner();
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  const auto saved = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->step, 0);
  const std::vector<NamedTensor> weights = network->ExportWeights();
  ASSERT_EQ(saved->weights.size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_TRUE(saved->weights[i].bytes == weights[i].bytes) << weights[i].name;
  }
  learner_ = nullptr;
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.from: " + path));
}

TEST_F(ClusterTest, StoredGamesAreSearchedAgain) {
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

TEST_F(ClusterTest, WithoutReplayAnActorFillsItsSpoolStopsPlayingAndWritesItDown) {
  config_.mutable_replay(0)->set_address("127.0.0.1:1");
  config_.mutable_actor()->set_spool_bytes(20'000);
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  EXPECT_TRUE(Await([&] { return actor->blocked_on().substr(0, 5) == "spool"; }));
  EXPECT_TRUE(Await([&] { return LearnerStatus().peers_size() == 1; }));
  EXPECT_TRUE(Await([&] { return !LearnerStatus().peers(0).blocked_on().empty(); }));
  const absl::Time start = absl::Now();
  EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  EXPECT_FALSE(std::filesystem::is_empty(folder_ + "/spool"));
}

TEST_F(ClusterTest, WithoutALearnerAnActorWaitsAndStopsAtOnce) {
  config_.mutable_learner()->set_address("127.0.0.1:1");
  StartShard();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  EXPECT_EQ(actor->blocked_on(), "learner");
  const absl::Time start = absl::Now();
  EXPECT_EQ(actor->Stop(absl::Seconds(5)), absl::OkStatus());
  EXPECT_LT(absl::Now() - start, absl::Seconds(2));
}

TEST_F(ClusterTest, TwoProcessesTrainTogetherAndMeetAgain) {
  config_.mutable_learner()->set_processes(2);
  config_.mutable_learner()->set_rendezvous_address("127.0.0.1:38517");
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  // One of two does nothing but serve.
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

TEST_F(ClusterTest, SyntheticActorsLoadItAsRealOnesWould) {
  StartShard();
  StartLearner();
  auto actors = SyntheticActors::Start(
      config_, {.actors = 20, .games_per_second = 10, .threads = 1}, security_);
  ASSERT_TRUE(actors.ok()) << actors.status();
  // The learner learns from what they made up: nothing of it is refused.
  EXPECT_TRUE(Learns(8));
  EXPECT_TRUE(Await([&] { return LearnerStatus().peers_size() == 20; }));
  EXPECT_TRUE(Await([&] {
    const SyntheticStats stats = (*actors)->stats();
    return stats.connected == 20 && stats.acknowledged > 100 && stats.versions >= 20 &&
           stats.fetched_bytes > 0 && stats.report_p99_ms > 0;
  }));
  EXPECT_EQ(LearnerStatus().figures().at("refused_rows"), 0);
  EXPECT_EQ((*actors)->stats().last_error, "");
  EXPECT_EQ((*actors)->Stop(absl::Seconds(5)), absl::OkStatus());
}

TEST_F(ClusterTest, SaysWhichFieldIsWrong) {
  config_.mutable_learner()->set_publish_updates(0);
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.publish_updates"));
  config_.mutable_learner()->set_publish_updates(1);
  config_.mutable_learner()->set_workloads(0, "/no/such.program");
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.workloads: /no/such.program"));
  config_.mutable_learner()->set_processes(3);
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.options.batch_size"));
  config_.mutable_actor()->set_games_in_flight(0);
  EXPECT_THAT(ActorRole::Start(config_, 0, false, security_, registry_).status().message(),
              HasSubstr("actor.games_in_flight"));
}

TEST_F(ClusterTest, RefusesAFolderWhoseRunHasOtherNetworks) {
  StartShard();
  StartLearner();
  learner_ = nullptr;
  config_.mutable_learner()->mutable_network()->set_latent(2 *
                                                           config_.learner().network().latent());
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.network"));
}

}  // namespace
}  // namespace mallocmuzero
