// Tests that an actor with valid credentials cannot harm a cluster as docs/operations.md says.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actor/role/actor_role.h"
#include "base/compression.h"
#include "env/program_rules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/role/testing/small_cluster.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/item_codec.h"
#include "replay/client/membership_client.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);

// A cluster with one honest actor. The test is another actor of it.
class HostileActor : public testing::SmallCluster {
 protected:
  void StartCluster() {
    StartShard();
    StartLearner();
    honest_ = StartActor(0);
    ASSERT_TRUE(Learns(4));
    replay_ = v1::Replay::NewStub(MakeChannel(shard_->address(), *security_));
    orders_ = v1::Learner::NewStub(MakeChannel(learner_->address(), *security_));
  }

  // Inserts one item. Returns the shard's answer, which is empty if the call fails.
  v1::InsertResponse Insert(const v1::ReplayItem& item, bool replace = false) {
    grpc::ClientContext context;
    PrepareCall(context, *security_, kLong);
    v1::InsertRequest request;
    *request.add_items() = item;
    request.set_replace(replace);
    v1::InsertResponse response;
    const auto stream = replay_->Insert(&context);
    stream->Write(request);
    stream->Read(&response);
    stream->WritesDone();
    inserted_ = stream->Finish().error_code();
    return response;
  }

  // Inserts an item that cannot be unpacked, and waits until the learner has drawn it.
  void InsertAndAwaitItsRefusal(const v1::ReplayItem& item) {
    const double invalid = InvalidItems();
    EXPECT_EQ(Insert(item).acknowledged(), 1);
    EXPECT_TRUE(Await([&] { return InvalidItems() > invalid; }));
  }

  // Drawn items that the learner could not read.
  double InvalidItems() {
    double items = 0;
    for (const prometheus::MetricFamily& family : registry_.Collect()) {
      if (family.name != "mallocmuzero_replay_client_invalid_items_total") continue;
      for (const prometheus::ClientMetric& metric : family.metric) items += metric.counter.value;
    }
    return items;
  }

  // An item that some actor has stored.
  v1::ReplayItem StolenItem() {
    grpc::ClientContext context;
    PrepareCall(context, *security_, kLong);
    v1::SampleRequest request;
    request.set_draws(1);
    request.set_selection(v1::UNIFORM);
    request.set_unlimited(true);
    v1::SampleResponse response;
    const auto stream = replay_->Sample(&context);
    stream->Write(request);
    EXPECT_TRUE(stream->Read(&response));
    context.TryCancel();
    (void)stream->Finish();
    return response.drawn(0).item();
  }

  // A new item with this payload that claims to be the best game of the first program, so that the
  // learner draws it soon.
  v1::ReplayItem BestGame(std::string payload, v1::ReplayItem::Encoding encoding,
                          uint32_t positions) {
    v1::ReplayItem item;
    item.set_id(absl::StrCat("hostile-", 10'000'000 + ++forged_));
    item.set_program_sha256(programs_[0].sha256());
    item.set_total_return(1000.0 + static_cast<double>(forged_));
    item.set_positions(positions);
    item.set_encoding(encoding);
    item.set_payload(std::move(payload));
    return item;
  }

  v1::ReplayItem BestGame(v1::Trajectory game) {
    v1::ReplayItem item = BestGame("", v1::ReplayItem::TRAJECTORY, game.actions().size());
    game.set_id(item.id());
    item.set_payload(game.SerializeAsString());
    return item;
  }

  double Figure(const std::string& name) const { return LearnerStatus().figures().at(name); }

  // The honest actor's orders still make sense.
  void ExpectOrders() {
    grpc::ClientContext context;
    PrepareCall(context, *security_, kLong);
    v1::ActorReport report;
    report.set_actor("another");
    report.set_rules_version(kGameRulesVersion);
    v1::ActorOrders orders;
    const grpc::Status called = orders_->Report(&context, report, &orders);
    ASSERT_TRUE(called.ok()) << called.error_message();
    ASSERT_EQ(orders.program_weights_size(), programs_.size());
    for (const double weight : orders.program_weights()) EXPECT_GE(weight, 0.05);
    EXPECT_NEAR(
        std::accumulate(orders.program_weights().begin(), orders.program_weights().end(), 0.0), 1,
        1e-9);
  }

  grpc::StatusCode Report(const v1::ActorReport& report) {
    grpc::ClientContext context;
    PrepareCall(context, *security_, kLong);
    v1::ActorOrders orders;
    return orders_->Report(&context, report, &orders).error_code();
  }

  grpc::StatusCode UpdatePriority(const std::string& id, double priority) {
    grpc::ClientContext context;
    PrepareCall(context, *security_, kLong);
    v1::UpdatePrioritiesRequest request;
    v1::UpdatePrioritiesRequest::Update& update = *request.add_updates();
    update.set_id(id);
    update.set_priority(priority);
    v1::UpdatePrioritiesResponse response;
    return replay_->UpdatePriorities(&context, request, &response).error_code();
  }

  std::unique_ptr<v1::Replay::Stub> replay_;
  std::unique_ptr<v1::Learner::Stub> orders_;
  std::unique_ptr<ActorRole> honest_;
  grpc::StatusCode inserted_ = grpc::StatusCode::OK;  // of the last Insert
  uint64_t forged_ = 0;
};

TEST_F(HostileActor, CannotHaveForgedGamesLearnedFrom) {
  StartCluster();
  const v1::Trajectory game = *DecodeTrajectory(StolenItem());
  v1::Trajectory other_program = game;
  other_program.set_program_sha256(std::string(32, 'x'));
  v1::Trajectory no_decision = game;
  (*no_decision.mutable_actions())[0] = 77;
  v1::Trajectory better = game;
  better.set_rewards(0, better.rewards(0) + 1);
  v1::Trajectory infinite = game;
  infinite.set_initial_return(std::numeric_limits<double>::infinity());
  for (const v1::Trajectory& forged : {other_program, no_decision, better, infinite}) {
    const double refused = Figure("refused_rows");
    EXPECT_EQ(Insert(BestGame(forged)).acknowledged(), 1);
    EXPECT_TRUE(Await([&] { return Figure("refused_rows") > refused; }));
  }
  // A stored game whose rewards are replaced.
  const v1::ReplayItem stolen = StolenItem();
  v1::Trajectory changed = *DecodeTrajectory(stolen);
  changed.set_rewards(0, changed.rewards(0) + 1);
  v1::ReplayItem replacement = stolen;
  replacement.set_encoding(v1::ReplayItem::TRAJECTORY);
  replacement.set_payload(changed.SerializeAsString());
  EXPECT_EQ(Insert(replacement, /*replace=*/true).acknowledged(), 1);
  EXPECT_TRUE(Learns(20));
  EXPECT_TRUE(std::isfinite(Figure("loss")));
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  const auto metrics = RunDirectory::Open(folder_ + "/run")->ReadMetrics();
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  for (const v1::TrainMetrics::Program& program : metrics->back().programs()) {
    EXPECT_LT(program.best_return(), 1) << program.name();
  }
}

TEST_F(HostileActor, CannotFillTheMemory) {
  StartCluster();
  // 128 MiB of zeros in a few kilobytes, from an item that claims a single position.
  const std::string bomb = *Compress(std::string(128 << 20, '\0'), "bomb");
  ASSERT_LT(bomb.size(), 1 << 16);
  const v1::ReplayItem item = BestGame(bomb, v1::ReplayItem::TRAJECTORY_ZSTD, 1);
  EXPECT_THAT(DecodeTrajectory(item).status().message(), HasSubstr("content is longer than"));
  InsertAndAwaitItsRefusal(item);
  InsertAndAwaitItsRefusal(BestGame("no trajectory", v1::ReplayItem::TRAJECTORY, 1));
  // A message above the limit ends the call. This client does not keep to the limit.
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  replay_ = v1::Replay::NewStub(
      grpc::CreateCustomChannel(shard_->address(), grpc::InsecureChannelCredentials(), arguments));
  const std::string large(65 << 20, 'x');
  EXPECT_EQ(Insert(BestGame(large, v1::ReplayItem::TRAJECTORY, 1)).acknowledged(), 0);
  EXPECT_EQ(inserted_, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Learns(20));
}

TEST_F(HostileActor, CannotMakeDrawsImpossible) {
  StartCluster();
  const std::string id = StolenItem().id();
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double priority : {std::nan(""), -1.0, infinite}) {
    EXPECT_EQ(UpdatePriority(id, priority), grpc::StatusCode::INVALID_ARGUMENT) << priority;
  }
  // The shard limits a huge priority, so that other positions are still drawn.
  EXPECT_EQ(UpdatePriority(id, 1e300), grpc::StatusCode::OK);
  EXPECT_LT(shard_->Stats().total_weight(), 1e6 * static_cast<double>(shard_->Stats().positions()));
  const double seen = Figure("games_seen");
  EXPECT_TRUE(Await([&] { return Figure("games_seen") > seen + 20; }));
}

TEST_F(HostileActor, CannotUpsetTheOrdersOfOthers) {
  StartCluster();
  v1::ActorReport report;
  report.set_rules_version(kGameRulesVersion);
  for (const std::string& name : {std::string(), std::string(257, 'x'), std::string("a\x1b[2J")}) {
    report.set_actor(name);
    EXPECT_EQ(Report(report), grpc::StatusCode::INVALID_ARGUMENT) << name;
  }
  // A name is only a text. No code uses it as a path.
  report.set_actor("../../outside");
  EXPECT_EQ(Report(report), grpc::StatusCode::OK);
  v1::ActorReport::Outcome& outcome = *report.add_outcomes();
  outcome.set_program_sha256(programs_[0].sha256());
  outcome.set_games(std::numeric_limits<uint64_t>::max());
  outcome.set_mean_return(-1e6);
  outcome.set_best_return(1e6);
  EXPECT_EQ(Report(report), grpc::StatusCode::OK);
  outcome.set_mean_return(-1e300);
  EXPECT_EQ(Report(report), grpc::StatusCode::INVALID_ARGUMENT);
  ExpectOrders();
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/../outside"));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/../../outside"));
  EXPECT_TRUE(Learns(20));
}

TEST_F(HostileActor, CannotReportMoreThanProgramsNeed) {
  StartCluster();
  v1::ActorReport report;
  report.set_rules_version(kGameRulesVersion);
  report.set_actor(std::string(9 << 20, 'x'));
  EXPECT_EQ(Report(report), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectOrders();
}

TEST_F(HostileActor, FetchesOnlyWeightsAndPrograms) {
  StartCluster();
  const auto fetch = [&](const std::string& sha256, uint64_t offset) {
    grpc::ClientContext context;
    PrepareCall(context, *security_, kLong);
    v1::FetchRequest request;
    request.set_sha256(sha256);
    request.set_offset(offset);
    v1::FetchResponse response;
    const auto stream = orders_->Fetch(&context, request);
    while (stream->Read(&response)) {
    }
    return stream->Finish().error_code();
  };
  EXPECT_EQ(fetch("../../../../etc/passwd", 0), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(fetch(std::string(32, 'x'), 0), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(fetch("", std::numeric_limits<uint64_t>::max()), grpc::StatusCode::NOT_FOUND);
}

TEST_F(HostileActor, MayNotChangeTheListOfShards) {
  std::ofstream(folder_ + "/admin_token") << "0123456789abcdef\n";
  v1::Security with_token;
  with_token.set_admin_token_file("admin_token");
  StartShard();
  auto learner = LearnerRole::Start(config_, 0, *Security::Load(with_token, folder_), registry_);
  ASSERT_TRUE(learner.ok()) << learner.status();
  v1::ChangeShardsRequest request;
  request.mutable_add()->set_name("mine");
  request.mutable_add()->set_address("127.0.0.1:7411");
  EXPECT_TRUE(absl::IsPermissionDenied(
      ChangeShards((*learner)->address(), *security_, request, kLong).status()));
  const auto roster = GetShards((*learner)->address(), *security_, kLong);
  ASSERT_TRUE(roster.ok()) << roster.status();
  EXPECT_EQ(roster->shards_size(), 1);
}

TEST(HostileActorOfAShard, MayNotAdministerIt) {
  std::ofstream(::testing::TempDir() + "/hostile_admin_token") << "0123456789abcdef\n";
  v1::Security with_token;
  with_token.set_admin_token_file("hostile_admin_token");
  const auto shard = *ReplayShard::Start(
      ShardConfig(), *Security::Load(with_token, ::testing::TempDir()), nullptr);
  const auto actor = std::make_shared<Security>();
  const auto stub = v1::Replay::NewStub(MakeChannel(shard->address(), *actor));
  const auto code = [&](const auto& call) {
    grpc::ClientContext context;
    PrepareCall(context, *actor, kLong);
    return call(&context).error_code();
  };
  v1::RateLimit limit;
  limit.set_error_buffer(1);
  EXPECT_EQ(code([&](auto* context) {
              v1::SetRateLimitResponse response;
              return stub->SetRateLimit(context, limit, &response);
            }),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code([&](auto* context) {
              v1::DrainResponse response;
              return stub->Drain(context, v1::DrainRequest(), &response);
            }),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code([&](auto* context) {
              v1::CheckpointResponse response;
              return stub->Checkpoint(context, v1::CheckpointRequest(), &response);
            }),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code([&](auto* context) {
              v1::RetireResponse response;
              return stub->Retire(context, v1::RetireRequest(), &response);
            }),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code([&](auto* context) {
              v1::TakeOverResponse response;
              return stub->TakeOver(context, v1::TakeOverRequest(), &response);
            }),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code([&](auto* context) {
              v1::MovedItems part;
              const auto stream = stub->Export(context, v1::ExportRequest());
              while (stream->Read(&part)) ADD_FAILURE() << "it hands over games";
              return stream->Finish();
            }),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(shard->Stats().retired());
  EXPECT_EQ(code([&](auto* context) {
              v1::ListIdsResponse response;
              const auto stream = stub->ListIds(context, v1::ListIdsRequest());
              while (stream->Read(&response)) ADD_FAILURE() << "it lists ids";
              return stream->Finish();
            }),
            grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace mallocmuzero
