#include "learner/role/learner_service.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/protocol.h"
#include "rpc/server.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kTimeout = absl::Minutes(1);

// Provides a server with a learner's services on 127.0.0.1, and a client.
class LearnerServiceTest : public ::testing::Test {
 protected:
  LearnerServiceTest() {
    server_ = *RpcServer::Start({.address = "127.0.0.1:0", .services = {&service_, &status_}});
    stub_ = v1::Learner::NewStub(MakeChannel(server_->address(), *security_));
  }

  std::unique_ptr<grpc::ClientContext> Context() const {
    auto context = std::make_unique<grpc::ClientContext>();
    PrepareCall(*context, *security_, kTimeout);
    return context;
  }

  // Returns a client for which a stream that nobody reads stops after 64 KiB. gRPC's estimate of
  // bandwidth, which is off here, would raise that window to megabytes.
  std::unique_ptr<v1::Learner::Stub> SmallWindowStub(const std::string& address) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return v1::Learner::NewStub(
        grpc::CreateCustomChannel(address, security_->ChannelCredentials(), arguments));
  }

  // Returns the bytes that Fetch sends and its final status.
  std::pair<std::string, grpc::Status> Fetch(const std::string& sha256, uint64_t offset) const {
    v1::FetchRequest request;
    request.set_sha256(sha256);
    request.set_offset(offset);
    const auto context = Context();
    const auto stream = stub_->Fetch(context.get(), request);
    std::string bytes;
    for (v1::FetchResponse chunk; stream->Read(&chunk);) {
      EXPECT_LE(chunk.data().size(), kMessageBytes);
      bytes += chunk.data();
    }
    return {bytes, stream->Finish()};
  }

  // Publishes weights that are larger than all buffers between server and client, calls `interrupt`
  // after the first bytes of a transfer, and returns the transfer's final status.
  grpc::Status FetchInterrupted(const std::function<void()>& interrupt) {
    const std::string weights(64 << 20, 'x');
    service_.Publish(1, weights);
    v1::FetchRequest request;
    request.set_sha256(Sha256(weights));
    const auto context = Context();
    const auto stream = stub_->Fetch(context.get(), request);
    v1::FetchResponse chunk;
    EXPECT_TRUE(stream->Read(&chunk));
    interrupt();
    while (stream->Read(&chunk)) {
    }
    return stream->Finish();
  }

  std::shared_ptr<const Security> security_ = std::make_shared<Security>();
  std::shared_ptr<const PublishedWeights> candidate_;  // set before the calls that read it
  LearnerService service_{security_,
                          [](const v1::ActorReport& report) -> absl::StatusOr<v1::ActorOrders> {
                            if (report.actor().empty()) return absl::InvalidArgumentError("actor");
                            v1::ActorOrders orders;
                            orders.add_program_weights(1);
                            return orders;
                          },
                          [this] { return candidate_; }};
  RoleStatusService status_{security_, [] {
                              v1::RoleStatus status;
                              status.set_name("learner");
                              return status;
                            }};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Learner::Stub> stub_;
};

TEST_F(LearnerServiceTest, WatchersHearOfNewWeightsAtOnce) {
  const auto context = Context();
  const auto stream = stub_->WatchCheckpoint(context.get(), v1::WatchCheckpointRequest());
  std::thread publisher([this] {
    while (service_.watchers() == 0) std::this_thread::yield();
    service_.Publish(7, "seven");
  });
  v1::CheckpointNotice notice;
  ASSERT_TRUE(stream->Read(&notice));
  publisher.join();
  EXPECT_EQ(notice.step(), 7);
  EXPECT_EQ(notice.sha256(), Sha256("seven"));
  EXPECT_EQ(notice.bytes(), 5);
  service_.Publish(8, "eight");
  ASSERT_TRUE(stream->Read(&notice));
  EXPECT_EQ(notice.step(), 8);
}

TEST_F(LearnerServiceTest, AWatcherThatHasTheNewestHearsOfTheNextOnly) {
  service_.Publish(7, "seven");
  v1::WatchCheckpointRequest request;
  request.set_have_sha256(Sha256("seven"));
  const auto context = Context();
  const auto stream = stub_->WatchCheckpoint(context.get(), request);
  while (service_.watchers() == 0) std::this_thread::yield();
  service_.Publish(8, "eight");
  v1::CheckpointNotice notice;
  ASSERT_TRUE(stream->Read(&notice));
  EXPECT_EQ(notice.step(), 8);
}

TEST_F(LearnerServiceTest, AWatcherThatDoesNotReadSkipsToTheNewest) {
  const auto context = Context();
  const auto stub = SmallWindowStub(server_->address());
  const auto stream = stub->WatchCheckpoint(context.get(), v1::WatchCheckpointRequest());
  while (service_.watchers() == 0) std::this_thread::yield();
  constexpr uint64_t kVersions = 20'000;  // notices of more than 1 MB
  for (uint64_t v = 1; v <= kVersions; ++v) service_.Publish(v, std::string(8, v));
  uint64_t heard = 0;
  v1::CheckpointNotice notice;
  while (notice.step() < kVersions && stream->Read(&notice)) ++heard;
  EXPECT_EQ(notice.step(), kVersions);
  EXPECT_LT(heard, kVersions);  // notices that it missed are not queued
}

TEST_F(LearnerServiceTest, AFetchGoesOnWhereItWasCut) {
  std::string bytes(3 * kMessageBytes + 17, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i * 7 + i / 251;
  service_.Publish(1, bytes);
  const auto [whole, status] = Fetch(Sha256(bytes), 0);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(whole == bytes);
  const auto [rest, rest_status] = Fetch(Sha256(bytes), kMessageBytes + 3);
  EXPECT_TRUE(rest_status.ok());
  EXPECT_TRUE(rest == bytes.substr(kMessageBytes + 3));
  EXPECT_EQ(Fetch(Sha256(bytes), bytes.size()).first, "");
  EXPECT_EQ(Fetch(Sha256(bytes), bytes.size() + 1).second.error_code(),
            grpc::StatusCode::OUT_OF_RANGE);
}

TEST_F(LearnerServiceTest, WeightsThatWereSupersededAreNotFound) {
  service_.Publish(1, "one");
  service_.Publish(2, "two");
  EXPECT_EQ(Fetch(Sha256("one"), 0).second.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Fetch(Sha256("two"), 0).first, "two");
}

TEST_F(LearnerServiceTest, TheCandidateIsServedBesideTheNewestWeights) {
  candidate_ = service_.Publish(1, "one");
  service_.Publish(2, "two");
  service_.Publish(3, "three");
  EXPECT_EQ(Fetch(Sha256("one"), 0).first, "one");
  EXPECT_EQ(Fetch(Sha256("two"), 0).second.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Fetch(Sha256("three"), 0).first, "three");
  v1::ActorReport report;
  report.set_actor("a");
  v1::ActorOrders orders;
  ASSERT_TRUE(stub_->Report(Context().get(), report, &orders).ok());
  EXPECT_EQ(orders.step(), 3);
  EXPECT_EQ(orders.candidate().step(), 1);
  EXPECT_EQ(orders.candidate().sha256(), Sha256("one"));
  EXPECT_EQ(orders.candidate().bytes(), 3);
}

TEST_F(LearnerServiceTest, WithoutACandidateTheOrdersNameNone) {
  service_.Publish(1, "one");
  v1::ActorReport report;
  report.set_actor("a");
  v1::ActorOrders orders;
  ASSERT_TRUE(stub_->Report(Context().get(), report, &orders).ok());
  EXPECT_FALSE(orders.has_candidate());
}

TEST_F(LearnerServiceTest, ATransferThatHasBegunEndsHoweverManyVersionsFollow) {
  const grpc::Status status = FetchInterrupted([&] {
    for (uint64_t v = 2; v < 100; ++v) service_.Publish(v, std::string(1, v));
  });
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(LearnerServiceTest, OfTransfersThatHoldTooMuchTheNewestEnd) {
  constexpr size_t kBytes = 8 << 20;
  LearnerService service(
      security_, [](const v1::ActorReport&) { return v1::ActorOrders(); }, [] { return nullptr; },
      2 * kBytes);
  const auto server =
      *RpcServer::Start({.address = "127.0.0.1:0", .security = security_, .services = {&service}});
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::FetchResponse>>> streams;
  const auto stub = SmallWindowStub(server->address());
  v1::FetchResponse chunk;
  for (char v = 1; v <= 4; ++v) {
    const std::string weights(kBytes, v);
    service.Publish(v, weights);
    v1::FetchRequest request;
    request.set_sha256(Sha256(weights));
    contexts.push_back(Context());
    streams.push_back(stub->Fetch(contexts.back().get(), request));
    ASSERT_TRUE(streams.back()->Read(&chunk));
  }
  service.Publish(5, "five");
  std::vector<grpc::StatusCode> ends;
  for (const auto& stream : streams) {
    while (stream->Read(&chunk)) {
    }
    ends.push_back(stream->Finish().error_code());
  }
  using grpc::StatusCode;
  EXPECT_EQ(ends, (std::vector{StatusCode::OK, StatusCode::OK, StatusCode::NOT_FOUND,
                               StatusCode::NOT_FOUND}));
}

TEST_F(LearnerServiceTest, AssignmentsThatDifferHaveOtherVersionsInEveryLife) {
  v1::Assignment assignment;
  assignment.add_programs()->set_name("a");
  const auto file = std::make_shared<const std::string>("bytes of a");
  service_.SetAssignment(assignment, {{"sha of a", file}});
  v1::Assignment got;
  ASSERT_TRUE(stub_->GetAssignment(Context().get(), {}, &got).ok());
  EXPECT_EQ(got.programs(0).name(), "a");
  EXPECT_EQ(Fetch("sha of a", 6).first, "of a");
  const auto version_of_next_life = [&](const v1::Assignment& next) {
    LearnerService service(
        security_, [](const v1::ActorReport&) { return v1::ActorOrders(); },
        [] { return nullptr; });
    service.SetAssignment(next, {});
    const auto server = *RpcServer::Start(
        {.address = "127.0.0.1:0", .security = security_, .services = {&service}});
    const auto stub = v1::Learner::NewStub(MakeChannel(server->address(), *security_));
    v1::Assignment answer;
    EXPECT_TRUE(stub->GetAssignment(Context().get(), {}, &answer).ok());
    v1::ActorOrders orders;
    EXPECT_TRUE(stub->Report(Context().get(), {}, &orders).ok());
    EXPECT_EQ(orders.assignment_version(), answer.version());
    return answer.version();
  };
  EXPECT_EQ(version_of_next_life(assignment), got.version());
  EXPECT_EQ(version_of_next_life(got), got.version());
  v1::Assignment other = assignment;
  other.mutable_programs(0)->set_sha256("of another a");
  EXPECT_NE(version_of_next_life(other), got.version());
  other = assignment;
  other.mutable_search()->set_simulations(8);
  EXPECT_NE(version_of_next_life(other), got.version());
}

TEST_F(LearnerServiceTest, AReportIsAnsweredWithOrders) {
  service_.Publish(5, "five");
  v1::ActorReport report;
  report.set_actor("a");
  v1::ActorOrders orders;
  ASSERT_TRUE(stub_->Report(Context().get(), report, &orders).ok());
  EXPECT_EQ(orders.step(), 5);
  EXPECT_EQ(orders.program_weights_size(), 1);
  report.clear_actor();
  EXPECT_EQ(stub_->Report(Context().get(), report, &orders).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(LearnerServiceTest, RefusesCallersOfNoProtocol) {
  grpc::ClientContext bare[4];
  v1::Assignment assignment;
  EXPECT_EQ(stub_->GetAssignment(&bare[0], {}, &assignment).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  v1::CheckpointNotice notice;
  const auto watch = stub_->WatchCheckpoint(&bare[1], {});
  EXPECT_FALSE(watch->Read(&notice));
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::FetchResponse chunk;
  const auto fetch = stub_->Fetch(&bare[2], {});
  EXPECT_FALSE(fetch->Read(&chunk));
  EXPECT_EQ(fetch->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  v1::RoleStatus status;
  EXPECT_EQ(v1::Status::NewStub(MakeChannel(server_->address(), *security_))
                ->GetStatus(&bare[3], {}, &status)
                .error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(LearnerServiceTest, NoStreamKeepsALargeRequest) {
  const std::string large(5000, 'x');
  v1::WatchCheckpointRequest request;
  request.set_have_sha256(large);
  const auto context = Context();
  const auto stream = stub_->WatchCheckpoint(context.get(), request);
  v1::CheckpointNotice notice;
  EXPECT_FALSE(stream->Read(&notice));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(service_.watchers(), 0);
  EXPECT_EQ(Fetch(large, 0).second.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(LearnerServiceTest, StreamsEndBeforeTheServerDoes) {
  const auto context = Context();
  const auto stream = stub_->WatchCheckpoint(context.get(), {});
  while (service_.watchers() == 0) std::this_thread::yield();
  service_.EndStreams();
  v1::CheckpointNotice notice;
  EXPECT_FALSE(stream->Read(&notice));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  const absl::Time start = absl::Now();
  server_->Shutdown(kTimeout);
  EXPECT_LT(absl::Now() - start, kTimeout / 2);
}

TEST_F(LearnerServiceTest, ATransferThatIsCutByTheLearnersEndIsToBeTriedAgain) {
  const grpc::Status status = FetchInterrupted([&] { service_.EndStreams(); });
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(LearnerServiceTest, AWatcherThatLeavesIsForgotten) {
  {
    const auto context = Context();
    const auto stream = stub_->WatchCheckpoint(context.get(), {});
    while (service_.watchers() == 0) std::this_thread::yield();
    context->TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  const absl::Time start = absl::Now();
  while (service_.watchers() > 0 && absl::Now() - start < kTimeout) std::this_thread::yield();
  EXPECT_EQ(service_.watchers(), 0);
  service_.Publish(1, "one");
}

}  // namespace
}  // namespace mallocmuzero
