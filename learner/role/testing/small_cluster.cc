#include "learner/role/testing/small_cluster.h"

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "env/program_set.h"
#include "env/testing/random_program_set.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "model/network_config.h"
#include "replay/service/testing/valid_shard.h"
#include "rpc/channel.h"
#include "rpc/testing/await.h"

namespace mallocmuzero::testing {
namespace {

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

}  // namespace

SmallCluster::SmallCluster()
    : folder_(absl::StrCat(::testing::TempDir(), "/",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())),
      programs_(RandomProgramSet(11, 2)) {
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directories(folder_ + "/programs");
  for (size_t p = 0; p < programs_.size(); ++p) {
    const std::string path = absl::StrCat(folder_, "/programs/", programs_[p].name(), ".program");
    EXPECT_TRUE(WriteMessage(path, programs_[p].program().proto()).ok());
  }
  Configure();
}

void SmallCluster::Configure() {
  v1::ReplayShard& shard = *config_.add_replay();
  shard = ValidShard();
  shard.set_name("replay-0");
  shard.set_address("127.0.0.1:0");
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
  learner.set_evaluated_share(0.25F);
  learner.set_importance_exponent(0.4F);
  learner.set_seed(3);
  learner.set_publish_updates(4);
  learner.set_checkpoint_seconds(1);
  learner.set_processes(1);
  learner.set_group_timeout_seconds(60);
  learner.set_prefetched_batches(2);
  learner.set_threads(1);
  learner.set_scored_checkpoint_bytes(uint64_t{1} << 30);
  v1::ActorRole& actor = *config_.mutable_actor();
  actor.set_threads(1);
  actor.set_games_in_flight(4);
  actor.set_spool_bytes(1 << 20);
  actor.set_spool_dir(folder_ + "/spool");
  actor.set_max_policy_lag(10'000);
  config_.mutable_reanalyse()->set_threads(1);
  config_.mutable_reanalyse()->set_games_in_flight(4);
}

void SmallCluster::StartShard() {
  auto shard = ReplayShard::Start(config_.replay(0), security_, &registry_);
  ASSERT_TRUE(shard.ok()) << shard.status();
  shard_ = *std::move(shard);
  config_.mutable_replay(0)->set_address(shard_->address());
}

void SmallCluster::StartLearner() {
  auto learner = LearnerRole::Start(config_, 0, security_, registry_);
  ASSERT_TRUE(learner.ok()) << learner.status();
  learner_ = *std::move(learner);
  config_.mutable_learner()->set_address(learner_->address());
}

std::unique_ptr<ActorRole> SmallCluster::StartActor(uint32_t index, bool reanalyse) {
  auto actor = ActorRole::Start(config_, index, reanalyse, security_, registry_);
  EXPECT_TRUE(actor.ok()) << actor.status();
  return *std::move(actor);
}

v1::RoleStatus SmallCluster::LearnerStatus() const {
  grpc::ClientContext context;
  PrepareCall(context, *security_, absl::Minutes(1));
  v1::RoleStatus status;
  const auto stub = v1::Status::NewStub(MakeChannel(learner_->address(), *security_));
  const grpc::Status called = stub->GetStatus(&context, v1::GetStatusRequest(), &status);
  EXPECT_TRUE(called.ok()) << called.error_message();
  return status;
}

bool SmallCluster::Learns(uint64_t updates) const {
  const uint64_t from = learner_->step();
  return Await([&] { return learner_->step() >= from + updates; });
}

}  // namespace mallocmuzero::testing
