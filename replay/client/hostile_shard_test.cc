// A sampler whose shard answers what no shard may answer.

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/item_codec.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/shard_address.h"
#include "replay/testing/shards.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kPositions = 5;

// Answers each request for draws with as many of position 0 of one game, after `change`.
class ScriptedShard final : public v1::Replay::Service {
 public:
  using Change = std::function<void(v1::SampleResponse&)>;

  explicit ScriptedShard(Change change) : change_(std::move(change)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ScriptedShard() override { server_->Shutdown(std::chrono::system_clock::now()); }

  ShardAddress address() const {
    return {.name = "a", .address = absl::StrCat("127.0.0.1:", port_)};
  }

  grpc::Status Sample(
      grpc::ServerContext* /*context*/,
      grpc::ServerReaderWriter<v1::SampleResponse, v1::SampleRequest>* stream) override {
    v1::SampleRequest request;
    while (stream->Read(&request)) {
      v1::SampleResponse response;
      response.set_positions(kPositions);
      response.set_total_weight(1);
      v1::SampleResponse::Drawn& drawn = *response.add_drawn();
      const absl::StatusOr<grpc::Slice> wire = EncodeTrajectory(MakeTrajectory(1, kPositions));
      drawn.mutable_item()->ParseFromString(std::string(ViewOf(*wire)));
      for (uint32_t k = 0; k < request.draws(); ++k) drawn.add_draws()->set_probability(0.5);
      change_(response);
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  const Change change_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// The error of a draw from a shard whose answers are changed; empty if there was none. Draws again
// until the error tells more than that there are no draws yet, or `patience` is over.
std::string ErrorAfter(const ScriptedShard::Change& change,
                       absl::Duration patience = absl::Seconds(30)) {
  const ScriptedShard shard(change);
  const auto sampler = ReplaySampler::Start({.shards = {shard.address()}, .prefetch = 4});
  if (!sampler.ok()) return std::string(sampler.status().message());
  const absl::Time end = absl::Now() + patience;
  absl::Status status;
  do {
    status = (*sampler)->Draw(v1::UNIFORM, 4, absl::Milliseconds(100)).status();
  } while (absl::StrContains(status.message(), "too few positions") && absl::Now() < end);
  return std::string(status.message());
}

TEST(HostileShard, AnAnswerThatIsAsItShouldBeIsTaken) {
  EXPECT_EQ(ErrorAfter([](v1::SampleResponse&) {}), "");
}

TEST(HostileShard, AnAnswerThatBreaksTheProtocolIsNotTaken) {
  const auto change_draw = [](const std::function<void(v1::SampleResponse::Draw&)>& change) {
    return [change](v1::SampleResponse& response) {
      change(*response.mutable_drawn(0)->mutable_draws(0));
    };
  };
  const ScriptedShard::Change changes[] = {
      change_draw([](auto& draw) { draw.set_position(kPositions); }),
      change_draw([](auto& draw) { draw.set_probability(0); }),
      change_draw([](auto& draw) { draw.set_probability(1.5); }),
      [](v1::SampleResponse& response) { response.clear_drawn(); },
      [](v1::SampleResponse& response) { response.set_total_weight(HUGE_VAL); },
      [](v1::SampleResponse& response) { response.set_total_weight(-1); },
      // One draw more than was asked for.
      [](v1::SampleResponse& response) {
        v1::SampleResponse::Drawn& drawn = *response.mutable_drawn(0);
        *drawn.add_draws() = v1::SampleResponse::Draw(drawn.draws(0));
      },
  };
  for (const ScriptedShard::Change& change : changes) {
    EXPECT_THAT(ErrorAfter(change), HasSubstr("breaks the protocol"));
  }
}

TEST(HostileShard, AGameThatIsNotWhatItsItemSaysIsNotDrawn) {
  EXPECT_THAT(ErrorAfter(
                  [](v1::SampleResponse& response) {
                    response.mutable_drawn(0)->mutable_item()->set_positions(kPositions + 1);
                  },
                  absl::Seconds(2)),
              HasSubstr("no draws"));
}

}  // namespace
}  // namespace mallocmuzero
