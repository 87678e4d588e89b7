#include "bench/serve/serve_load.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/types.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/serve.grpc.pb.h"
#include "rpc/security.h"

namespace mallocmuzero::bench {
namespace {

using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A server that answers by a function instead of a search.
class FakeServer final : public v1::Mapper::Service {
 public:
  using Answer = std::function<grpc::Status(grpc::ServerContext&, v1::FoundMapping&)>;

  explicit FakeServer(Answer answer) : answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }

  const std::string& address() const { return address_; }

  grpc::Status FindMapping(grpc::ServerContext* context, const v1::FindMappingRequest* /*request*/,
                           grpc::ServerWriter<v1::FindMappingResponse>* stream) override {
    v1::FindMappingResponse response;
    const grpc::Status status = answer_(*context, *response.mutable_result());
    if (status.ok()) stream->Write(response);
    return status;
  }

 private:
  const Answer answer_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// Four requests of one client, each with a budget of ten seconds.
ServeLoadOptions OptionsFor(const FakeServer& server) {
  v1::FindMappingRequest request;
  request.set_budget_seconds(10);
  return {.address = server.address(),
          .security = std::make_shared<Security>(),
          .messages = {request.SerializeAsString()},
          .clients = 1,
          .requests = 4};
}

TEST(ServeLoad, CountsTheOverheadOfSearchesThatEndBeforeTheirBudget) {
  const FakeServer server([](grpc::ServerContext&, v1::FoundMapping& result) {
    result.set_seconds(0);
    return grpc::Status::OK;
  });
  const absl::StatusOr<v1::ServeBenchReport> report = LoadServer(OptionsFor(server));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->codes(), UnorderedElementsAre(Pair("OK", 4)));
  EXPECT_THAT(report->overhead_p50_ms(), AllOf(Gt(0), Lt(10'000)));
  EXPECT_THAT(report->overhead_p99_ms(), AllOf(Gt(0), Lt(10'000)));
}

TEST(ServeLoad, CountsTheTimeThatASearchTakesBeyondItsBudgetAsOverhead) {
  const FakeServer server([](grpc::ServerContext&, v1::FoundMapping& result) {
    result.set_seconds(100);
    return grpc::Status::OK;
  });
  ServeLoadOptions options = OptionsFor(server);
  options.messages = {v1::FindMappingRequest().SerializeAsString()};  // no budget
  const absl::StatusOr<v1::ServeBenchReport> report = LoadServer(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->overhead_p50_ms(), AllOf(Gt(0), Lt(100'000)));
}

TEST(ServeLoad, MeasuresNoProcessThatIsNotThere) {
  const FakeServer server([](grpc::ServerContext&, v1::FoundMapping&) { return grpc::Status::OK; });
  ServeLoadOptions options = OptionsFor(server);
  options.server = std::numeric_limits<pid_t>::max();  // no kernel has as many processes
  const absl::Status status = LoadServer(options).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST(ServeLoad, EndsACallThatIsNotAnsweredWhenItIsStopped) {
  absl::Notification called;
  const FakeServer server([&](grpc::ServerContext& context, v1::FoundMapping&) {
    called.Notify();
    // Without a stop the server answers after a minute.
    absl::Notification never;
    for (int k = 0; k < 600 && !context.IsCancelled(); ++k) {
      never.WaitForNotificationWithTimeout(absl::Milliseconds(100));
    }
    return grpc::Status::OK;
  });
  ServeLoadOptions options = OptionsFor(server);
  options.stop = [&] { return called.HasBeenNotified(); };
  const absl::StatusOr<v1::ServeBenchReport> report = LoadServer(options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->requests(), 0);
  EXPECT_LT(report->seconds(), 30);
}

}  // namespace
}  // namespace mallocmuzero::bench
