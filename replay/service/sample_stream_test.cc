#include "replay/service/sample_stream.h"

#include <grpc/grpc.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_shard.h"
#include "replay/service/testing/items.h"
#include "replay/testing/shards.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;

constexpr absl::Duration kLong = absl::Seconds(30);

void InsertOne(v1::Replay::Stub& stub, const v1::ReplayItem& item) {
  grpc::ClientContext context;
  PrepareCall(context, Security(), kLong);
  const auto stream = stub.Insert(&context);
  v1::InsertRequest request;
  *request.add_items() = item;
  ASSERT_TRUE(stream->Write(request));
  v1::InsertResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_EQ(response.acknowledged(), 1);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(SampleStream, DrawsOnTheWayToAClientThatLeavesDoNotCount) {
  const auto shard = StartShard(ShardConfig());
  // Without probes of the bandwidth, a client that does not read gets 64 KiB and no more, so the
  // answer stays on the way.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  const auto stub = v1::Replay::NewStub(
      grpc::CreateCustomChannel(shard->address(), grpc::InsecureChannelCredentials(), arguments));
  InsertOne(*stub, MakeReplayItem(1, 1, 0, 1 << 20));
  grpc::ClientContext context;
  PrepareCall(context, Security(), kLong);
  const auto stream = stub->Sample(&context);
  v1::SampleRequest request;
  request.set_draws(1);
  request.set_selection(v1::UNIFORM);
  ASSERT_TRUE(stream->Write(request));
  EXPECT_TRUE(Await([&] { return shard->Stats().drawn_positions() == 1; }));
  context.TryCancel();
  v1::SampleResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(Await([&] { return shard->Stats().drawn_positions() == 0; }));
}

}  // namespace
}  // namespace mallocmuzero
