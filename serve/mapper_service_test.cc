#include "serve/mapper_service.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/channel_arguments.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/serve.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"
#include "serve/find_mapping.h"
#include "serve/serve_config.h"
#include "serve/serve_role.h"
#include "serve/testing/requests.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using testing::LayersRequest;

// A call whose client takes a few bytes of the answers and no more.
struct UntakenCall {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::FindMappingResponse>> reader;
};

TEST(MapperService, RefusesMoreCallsThanClientsTakeTheAnswersOf) {
  v1::ServeConfig config;
  config.set_address("127.0.0.1:0");
  config.set_searches(2);
  config.set_waiting(0);
  const auto security = std::make_shared<const Security>();
  prometheus::Registry registry;
  const auto role = ServeRole::Start(*CompleteServeConfig(config), security, &registry);
  ASSERT_TRUE(role.ok()) << role.status();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 5);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto slow = v1::Mapper::NewStub(
      grpc::CreateCustomChannel((*role)->address(), grpc::InsecureChannelCredentials(), arguments));
  const auto other = v1::Mapper::NewStub(MakeChannel((*role)->address(), *security));
  const v1::FindMappingRequest request = LayersRequest(5, 0.001);
  const auto ask = [&] { return FindMapping(*other, *security, request, {}).status(); };

  std::vector<std::unique_ptr<UntakenCall>> calls;
  const auto are_refused = [&] {
    calls.push_back(std::make_unique<UntakenCall>());
    PrepareCall(calls.back()->context, *security, absl::InfiniteDuration());
    calls.back()->reader = slow->FindMapping(&calls.back()->context, request);
    const absl::Status status = ask();
    return absl::IsResourceExhausted(status) &&
           absl::StrContains(status.message(), "more than 66 calls are open");
  };
  EXPECT_TRUE(Await(are_refused, absl::Minutes(1)));
  EXPECT_GE(calls.size(), 66);
  for (const auto& call : calls) {
    call->context.TryCancel();
    call->reader->Finish();
  }
  EXPECT_TRUE(Await([&] { return ask().ok(); }));
}

}  // namespace
}  // namespace mallocmuzero
