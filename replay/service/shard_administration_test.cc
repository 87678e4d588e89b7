// Calls that administer a shard.

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/channel.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kLong = absl::Seconds(30);

// Security with the administrators' token in a file of the test's folder.
std::shared_ptr<const Security> SecurityWithAdminToken(const std::string& token_file) {
  v1::Security config;
  config.set_admin_token_file(token_file);
  return *Security::Load(config, ::testing::TempDir());
}

TEST(ShardAdministration, NeedsItsOwnToken) {
  std::ofstream(::testing::TempDir() + "/admin_token") << "0123456789abcdef\n";
  std::ofstream(::testing::TempDir() + "/wrong_token") << "0123456789abcdeF\n";
  const auto security = SecurityWithAdminToken("admin_token");
  const auto shard = *ReplayShard::Start(ShardConfig(), security, nullptr);
  const auto drain = [&](const Security& caller, bool admin) {
    grpc::ClientContext context;
    if (admin) {
      PrepareAdminCall(context, caller, kLong);
    } else {
      PrepareCall(context, caller, kLong);
    }
    v1::DrainRequest request;
    request.set_draining(true);
    v1::DrainResponse response;
    return v1::Replay::NewStub(MakeChannel(shard->address(), caller))
        ->Drain(&context, request, &response)
        .error_code();
  };
  EXPECT_EQ(drain(*security, false), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(drain(*SecurityWithAdminToken("wrong_token"), true),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(drain(*SecurityWithAdminToken("no_such_file"), true),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(shard->Stats().draining());
  EXPECT_EQ(drain(*security, true), grpc::StatusCode::OK);
  EXPECT_TRUE(shard->Stats().draining());
}

TEST(ShardAdministration, RefusesLargeRequestsOfCallsThatNeedFewBytes) {
  const auto security = std::make_shared<Security>();
  const auto shard = *ReplayShard::Start(ShardConfig(), security, nullptr);
  const auto channel = MakeChannel(shard->address(), *security);
  const auto stub = v1::Replay::NewStub(channel);
  // Unknown fields of two bytes each; a message of them takes many times their size.
  const std::string unknown(1 << 20, '\x78');
  const auto code = [&](const auto& call, auto request, auto response) {
    EXPECT_TRUE(request.ParseFromString(unknown));
    grpc::ClientContext context;
    PrepareAdminCall(context, *security, kLong);
    return call(&context, request, &response).error_code();
  };
  EXPECT_EQ(code([&](auto... call) { return stub->GetStats(call...); }, v1::GetStatsRequest(),
                 v1::ReplayStats()),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(code([&](auto... call) { return stub->Drain(call...); }, v1::DrainRequest(),
                 v1::DrainResponse()),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(code([&](auto... call) { return stub->SetRateLimit(call...); }, v1::RateLimit(),
                 v1::SetRateLimitResponse()),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(code([&](auto... call) { return stub->Retire(call...); }, v1::RetireRequest(),
                 v1::RetireResponse()),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_FALSE(shard->Stats().retired());
  const auto status = v1::Status::NewStub(channel);
  EXPECT_EQ(code([&](auto... call) { return status->GetStatus(call...); }, v1::GetStatusRequest(),
                 v1::RoleStatus()),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace mallocmuzero
