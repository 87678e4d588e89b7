#include "replay/service/replay_shard.h"

#include <grpcpp/client_context.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"
#include "replay/service/testing/items.h"
#include "replay/testing/shards.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(30);

// A client that uses the gRPC stubs directly.
class RawClient {
 public:
  explicit RawClient(const ReplayShard& shard)
      : channel_(MakeChannel(shard.address(), security_)),
        stub_(v1::Replay::NewStub(channel_)),
        status_(v1::Status::NewStub(channel_)) {}

  std::unique_ptr<grpc::ClientContext> Context() const {
    auto context = std::make_unique<grpc::ClientContext>();
    PrepareCall(*context, security_, kLong);
    return context;
  }

  v1::Replay::Stub& replay() { return *stub_; }
  v1::Status::Stub& status() { return *status_; }

 private:
  const Security security_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Replay::Stub> stub_;
  const std::unique_ptr<v1::Status::Stub> status_;
};

void ExpectServes(const ReplayShard& shard, uint64_t index) {
  const auto writer = ReplayWriter::Start({.shards = {AddressOf(shard)}});
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Write(MakeTrajectory(index, 5)));
  EXPECT_EQ((*writer)->Close(kLong), absl::OkStatus());
  const auto sampler = ReplaySampler::Start({.shards = {AddressOf(shard)}});
  ASSERT_TRUE(sampler.ok());
  EXPECT_TRUE((*sampler)->Draw(v1::UNIFORM, 10, kLong).ok());
}

// The configuration of a shard whose draws wait until a thousand positions were inserted.
v1::ReplayShard ConfigWithoutDraws() {
  v1::ReplayShard config = ShardConfig();
  config.mutable_rate_limit()->set_min_positions(1000);
  return config;
}

bool AwaitBlockedSample(const ReplayShard& shard) {
  return Await([&] { return shard.Stats().blocked_samples() > 0; });
}

TEST(ReplayShard, RandomBytesAndHalfOpenConnectionsDoNoHarm) {
  const auto shard = StartShard(ShardConfig());
  std::mt19937_64 random(1);
  std::vector<testing::TcpSocket> open;
  for (int i = 0; i < 200; ++i) {
    testing::TcpSocket connection;
    ASSERT_TRUE(connection.Connect(shard->address()));
    // Every other connection begins with the preface of gRPC and continues with random bytes.
    std::string bytes = i % 2 == 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    for (uint64_t n = random() % 2000; n > 0; --n) bytes.push_back(random());
    send(connection.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    // Some connections stay open and send nothing more.
    if (i % 4 == 0) open.push_back(std::move(connection));
  }
  ExpectServes(*shard, 1);
}

TEST(ReplayShard, HostileMessagesEndTheirStreamAndNoOther) {
  const auto shard = StartShard(ShardConfig());
  RawClient client(*shard);
  for (const v1::SampleRequest& bad : [] {
         std::vector<v1::SampleRequest> requests(4);
         requests[0].set_draws(1);  // no selection
         requests[1].set_draws(1);
         requests[1].set_selection(static_cast<v1::Selection>(77));
         requests[2].set_draws(UINT32_MAX);
         requests[2].set_selection(v1::UNIFORM);
         requests[3].set_selection(v1::UNIFORM);
         requests[3]
             .GetReflection()
             ->MutableUnknownFields(&requests[3])
             ->AddLengthDelimited(9, std::string(2000, 'x'));
         return requests;
       }()) {
    const auto context = client.Context();
    const auto stream = client.replay().Sample(context.get());
    EXPECT_TRUE(stream->Write(bad));
    v1::SampleResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    // An item that is malformed: it claims more bytes than it has.
    const auto context = client.Context();
    const auto stream = client.replay().Insert(context.get());
    v1::InsertRequest request;
    request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1, "\x0a\x7f");
    EXPECT_TRUE(stream->Write(request));
    v1::InsertResponse response;
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.acknowledged(), 0);
    ASSERT_EQ(response.refusals_size(), 1);
    EXPECT_THAT(response.refusals(0).message(), HasSubstr("not a ReplayItem"));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  ExpectServes(*shard, 1);
}

TEST(ReplayShard, RefusesARequestOfTooManyPriorities) {
  const auto shard = StartShard(ShardConfig());
  RawClient client(*shard);
  v1::UpdatePrioritiesRequest request;
  for (int i = 0; i < 65'537; ++i) request.add_updates();
  v1::UpdatePrioritiesResponse response;
  const auto update = [&] {
    return client.replay().UpdatePriorities(client.Context().get(), request, &response);
  };
  const grpc::Status refused = update();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("updates: more than 65536"));
  request.mutable_updates()->RemoveLast();
  EXPECT_TRUE(update().ok());
  ExpectServes(*shard, 1);
}

TEST(ReplayShard, AnswersEachRequestInOrderAndEndsWhenTheClientDoes) {
  const auto shard = StartShard(ShardConfig());
  RawClient client(*shard);
  const auto context = client.Context();
  const auto stream = client.replay().Insert(context.get());
  for (uint64_t i = 1; i <= 5; ++i) {
    v1::InsertRequest request;
    for (uint64_t k = 0; k < i; ++k) *request.add_items() = MakeReplayItem(100 * i + k, 1);
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  v1::InsertResponse response;
  for (uint32_t i = 1; i <= 5; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.acknowledged(), i);
  }
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(ReplayShard, AsManyAsAskedForAreSentAndNoMore) {
  const auto shard = StartShard(ShardConfig());
  ExpectServes(*shard, 1);
  RawClient client(*shard);
  const auto context = client.Context();
  const auto stream = client.replay().Sample(context.get());
  v1::SampleRequest request;
  request.set_draws(3);
  request.set_selection(v1::UNIFORM);
  ASSERT_TRUE(stream->Write(request));
  request.set_draws(4);
  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  v1::SampleResponse response;
  int draws = 0;
  while (stream->Read(&response)) {
    for (const auto& drawn : response.drawn()) draws += drawn.draws_size();
  }
  EXPECT_EQ(draws, 7);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(ReplayShard, DrainedItRefusesInsertsAndGoesOnWithDraws) {
  const auto shard = StartShard(ShardConfig());
  ExpectServes(*shard, 1);
  RawClient client(*shard);
  const auto open_context = client.Context();
  const auto open = client.replay().Insert(open_context.get());
  open->WaitForInitialMetadata();
  v1::DrainRequest drain;
  drain.set_draining(true);
  v1::DrainResponse drained;
  ASSERT_TRUE(client.replay().Drain(client.Context().get(), drain, &drained).ok());
  v1::InsertRequest request;
  *request.add_items() = MakeReplayItem(2, 1);
  EXPECT_TRUE(open->Write(request));
  v1::InsertResponse response;
  EXPECT_FALSE(open->Read(&response));
  EXPECT_EQ(open->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  // A new stream needs no request to be refused.
  const auto context = client.Context();
  const auto stream = client.replay().Insert(context.get());
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(shard->Status().blocked_on(), HasSubstr("draining"));
  EXPECT_FALSE(shard->Status().flow_control());
  EXPECT_EQ(shard->Ready(), absl::UnavailableError("draining: inserts are refused"));
  EXPECT_EQ(shard->Health(), absl::OkStatus());
  drain.set_draining(false);
  ASSERT_TRUE(client.replay().Drain(client.Context().get(), drain, &drained).ok());
  EXPECT_EQ(shard->Ready(), absl::OkStatus());
  ExpectServes(*shard, 3);
}

TEST(ReplayShard, TheLimiterOfARunningShardCanBeChanged) {
  const auto shard = StartShard(ConfigWithoutDraws());
  const auto sampler = ReplaySampler::Start({.shards = {AddressOf(*shard)}});
  const auto writer = ReplayWriter::Start({.shards = {AddressOf(*shard)}});
  ASSERT_TRUE((*writer)->Write(MakeTrajectory(1, 5)));
  EXPECT_FALSE((*sampler)->Draw(v1::UNIFORM, 1, absl::Milliseconds(200)).ok());
  const auto waits = [&] {
    return absl::StrContains(shard->Status().blocked_on(), "min size: 5 of 1000");
  };
  EXPECT_TRUE(Await(waits));
  EXPECT_TRUE(shard->Status().flow_control());
  RawClient client(*shard);
  v1::RateLimit limit;
  limit.set_min_positions(1'000'000);
  v1::SetRateLimitResponse response;
  EXPECT_EQ(client.replay().SetRateLimit(client.Context().get(), limit, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  limit.set_min_positions(1);
  EXPECT_TRUE(client.replay().SetRateLimit(client.Context().get(), limit, &response).ok());
  EXPECT_TRUE((*sampler)->Draw(v1::UNIFORM, 1, kLong).ok());
  EXPECT_THAT(shard->Status().blocked_on(), IsEmpty());
}

TEST(ReplayShard, AStreamThatAsksAgainAndAgainWaitsOnce) {
  const auto shard = StartShard(ConfigWithoutDraws());
  RawClient client(*shard);
  const auto context = client.Context();
  const auto stream = client.replay().Sample(context.get());
  v1::SampleRequest request;
  request.set_selection(v1::UNIFORM);
  for (uint32_t i = 0; i < 200; ++i) {
    request.set_draws(i % 2);  // every other request asks for no draws
    ASSERT_TRUE(stream->Write(request));
    EXPECT_LE(shard->Stats().blocked_samples(), 1);
  }
  EXPECT_TRUE(AwaitBlockedSample(*shard));
  EXPECT_EQ(shard->Stats().blocked_samples(), 1);
}

TEST(ReplayShard, StopEndsStreamsThatWait) {
  const auto shard = StartShard(ConfigWithoutDraws());
  RawClient client(*shard);
  const auto context = client.Context();
  const auto stream = client.replay().Sample(context.get());
  v1::SampleRequest request;
  request.set_draws(3);
  request.set_selection(v1::UNIFORM);
  ASSERT_TRUE(stream->Write(request));
  EXPECT_TRUE(AwaitBlockedSample(*shard));
  const absl::Time start = absl::Now();
  shard->Stop(kLong);
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  v1::SampleResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(ReplayShard, SaysHowItIs) {
  prometheus::Registry registry;
  auto shard = ReplayShard::Start(ShardConfig("shard-1"), std::make_shared<Security>(), &registry);
  ASSERT_TRUE(shard.ok()) << shard.status();
  ExpectServes(**shard, 1);
  RawClient client(**shard);
  v1::RoleStatus status;
  ASSERT_TRUE(
      client.status().GetStatus(client.Context().get(), v1::GetStatusRequest(), &status).ok());
  EXPECT_EQ(status.role(), v1::RoleStatus::REPLAY);
  EXPECT_EQ(status.name(), "shard-1");
  EXPECT_EQ(status.figures().at("items"), 1);
  EXPECT_EQ(status.figures().at("positions"), 5);
  EXPECT_GT(status.figures().at("inserts_per_second"), 0);
  (*shard)->Stop(kLong);
  EXPECT_THAT(prometheus::TextSerializer().Serialize(registry.Collect()),
              HasSubstr("mallocmuzero_replay_inserted_bytes_total"));
}

TEST(ReplayShard, AMetricSaysWhatItsStreamsWaitFor) {
  prometheus::Registry registry;
  auto shard = ReplayShard::Start(ShardConfig(), std::make_shared<Security>(), &registry);
  ASSERT_TRUE(shard.ok()) << shard.status();
  const auto served = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  EXPECT_THAT(served(), HasSubstr("mallocmuzero_replay_blocked{on=\"draining\"} 0"));
  RawClient client(**shard);
  v1::DrainRequest drain;
  drain.set_draining(true);
  v1::DrainResponse drained;
  ASSERT_TRUE(client.replay().Drain(client.Context().get(), drain, &drained).ok());
  const std::string blocked = "mallocmuzero_replay_blocked{on=\"draining\"} 1";
  EXPECT_TRUE(Await([&] { return absl::StrContains(served(), blocked); }));
  EXPECT_THAT(served(), HasSubstr("mallocmuzero_replay_blocked{on=\"disk\"} 0"));
  const std::string draining = "mallocmuzero_replay_draining{shard=\"a\"} 1";
  EXPECT_TRUE(Await([&] { return absl::StrContains(served(), draining); }));
}

TEST(ReplayShard, ADurableOneHasEverythingAcknowledgedAfterARestart) {
  v1::ReplayShard config = ShardConfig();
  config.set_mode(v1::ReplayShard::DURABLE);
  config.set_data_dir(absl::StrCat(::testing::TempDir(), "/durable_shard"));
  std::filesystem::remove_all(config.data_dir());
  auto shard = StartShard(config);
  config.set_address(shard->address());
  const auto writer = ReplayWriter::Start({.shards = {AddressOf(*shard)}});
  ASSERT_TRUE(writer.ok());
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE((*writer)->Write(MakeTrajectory(i, 5)));
    if (i % 50 == 25) {
      shard.reset();
      shard = StartShard(config);
      ASSERT_NE(shard, nullptr);
    }
  }
  EXPECT_EQ((*writer)->Close(kLong), absl::OkStatus());
  EXPECT_EQ((*writer)->acknowledged(), 200);
  EXPECT_EQ(ListIds(shard->address()), IdsOf(0, 200));
  EXPECT_EQ(shard->Stats().inserted_items(), 200);
  // A running shard can make a copy.
  RawClient client(*shard);
  v1::CheckpointResponse checkpoint;
  ASSERT_TRUE(client.replay()
                  .Checkpoint(client.Context().get(), v1::CheckpointRequest(), &checkpoint)
                  .ok());
  EXPECT_TRUE(std::filesystem::is_directory(checkpoint.path()));
  std::filesystem::remove_all(checkpoint.path());
}

TEST(ReplayShard, AfterARestartItsMetricsCountAnew) {
  v1::ReplayShard config = ShardConfig();
  config.set_mode(v1::ReplayShard::DURABLE);
  config.set_data_dir(absl::StrCat(::testing::TempDir(), "/counting_shard"));
  std::filesystem::remove_all(config.data_dir());
  ExpectServes(*StartShard(config), 1);
  prometheus::Registry registry;
  auto shard = ReplayShard::Start(config, std::make_shared<Security>(), &registry);
  ASSERT_TRUE(shard.ok()) << shard.status();
  const auto served = [&] { return prometheus::TextSerializer().Serialize(registry.Collect()); };
  EXPECT_EQ((*shard)->Stats().inserted_items(), 1);
  EXPECT_THAT(served(), HasSubstr("\nmallocmuzero_replay_inserted_items_total 0\n"));
  ExpectServes(**shard, 2);
  EXPECT_TRUE(Await([&] {
    return absl::StrContains(served(), "\nmallocmuzero_replay_inserted_items_total 1\n");
  }));
}

TEST(ReplayShard, NamesTheFieldThatCannotBe) {
  v1::ReplayShard config = ShardConfig();
  config.mutable_rate_limit()->set_samples_per_insert(3);
  const auto shard = ReplayShard::Start(config, std::make_shared<Security>(), nullptr);
  EXPECT_EQ(shard.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shard.status().message()), HasSubstr("error_buffer"));
}

}  // namespace
}  // namespace mallocmuzero
