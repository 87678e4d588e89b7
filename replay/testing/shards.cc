#include "replay/testing/shards.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"
#include "replay/service/testing/valid_shard.h"
#include "rpc/channel.h"
#include "rpc/security.h"

namespace mallocmuzero {

v1::ReplayShard ShardConfig(const std::string& name, uint64_t max_positions) {
  v1::ReplayShard config = ValidShard();
  config.set_name(name);
  config.set_address("127.0.0.1:0");
  config.set_max_positions(max_positions);
  config.set_best_games(2);
  return config;
}

std::unique_ptr<ReplayShard> StartShard(const v1::ReplayShard& config) {
  absl::StatusOr<std::unique_ptr<ReplayShard>> shard =
      ReplayShard::Start(config, std::make_shared<Security>(), nullptr);
  if (!shard.ok()) {
    ADD_FAILURE() << shard.status();
    return nullptr;
  }
  return *std::move(shard);
}

std::unique_ptr<ReplayWriter> StartWriter(ReplayWriterOptions options) {
  absl::StatusOr<std::unique_ptr<ReplayWriter>> writer = ReplayWriter::Start(std::move(options));
  if (!writer.ok()) {
    ADD_FAILURE() << writer.status();
    return nullptr;
  }
  return *std::move(writer);
}

ShardAddress AddressOf(const ReplayShard& shard, const std::string& name) {
  return {.name = name, .address = shard.address()};
}

v1::Trajectory MakeTrajectory(uint64_t index, int length, double value) {
  v1::Trajectory trajectory;
  std::string id(16, '\0');
  std::memcpy(id.data(), &index, sizeof(index));
  trajectory.set_id(id);
  trajectory.set_program_sha256(std::string(32, 'p'));
  for (int i = 0; i < length; ++i) {
    trajectory.mutable_actions()->push_back(i % 3);
    trajectory.add_rewards(i == 0 ? value : 0);
    trajectory.add_root_values(static_cast<float>(i));
  }
  return trajectory;
}

std::set<std::string> ListIds(const std::string& address, bool evicted) {
  const Security security;
  const auto stub = v1::Replay::NewStub(MakeChannel(address, security));
  grpc::ClientContext context;
  PrepareCall(context, security, absl::Minutes(1));
  const auto reader = stub->ListIds(&context, v1::ListIdsRequest());
  v1::ListIdsResponse response;
  std::set<std::string> ids;
  while (reader->Read(&response)) {
    const auto& part = evicted ? response.evicted() : response.stored();
    ids.insert(part.begin(), part.end());
  }
  EXPECT_TRUE(reader->Finish().ok());
  return ids;
}

}  // namespace mallocmuzero
