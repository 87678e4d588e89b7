// A shard whose disk hangs.

#include <prometheus/registry.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/client/replay_writer.h"
#include "replay/service/replay_shard.h"
#include "replay/service/testing/disk_faults.h"
#include "replay/testing/shards.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(30);

double BlockedByDisk(const prometheus::Registry& registry) {
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    if (family.name != "mallocmuzero_replay_blocked") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      if (metric.label[0].value == "disk") return metric.gauge.value;
    }
  }
  return -1;
}

class ShardDisk : public ::testing::Test {
 protected:
  ShardDisk()
      : folder_(absl::StrCat(::testing::TempDir(), "/shard_disk_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    v1::ReplayShard config = ShardConfig();
    config.set_mode(v1::ReplayShard::DURABLE_SYNC);
    config.set_data_dir(folder_);
    auto shard = ReplayShard::Start(config, std::make_shared<Security>(), &registry_);
    EXPECT_TRUE(shard.ok()) << shard.status();
    shard_ = *std::move(shard);
    writer_ = *ReplayWriter::Start({.shards = {AddressOf(*shard_)}});
  }
  ~ShardDisk() override {
    disk_faults::Release();
    writer_ = nullptr;
    shard_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  prometheus::Registry registry_;
  std::unique_ptr<ReplayShard> shard_;
  std::unique_ptr<ReplayWriter> writer_;
};

TEST_F(ShardDisk, OneThatHangsShowsWithinTenSecondsAndPasses) {
  ASSERT_TRUE(writer_->Write(MakeTrajectory(0, 5)));
  ASSERT_TRUE(testing::Await([&] { return shard_->Stats().items() == 1; }));
  EXPECT_EQ(shard_->Health(), absl::OkStatus());
  disk_faults::Hang(folder_);
  ASSERT_TRUE(writer_->Write(MakeTrajectory(1, 5)));
  const absl::Time start = absl::Now();
  ASSERT_TRUE(testing::Await(
      [&] { return BlockedByDisk(registry_) == 1 && !shard_->Status().blocked_on().empty(); }));
  EXPECT_LT(absl::Now() - start, absl::Seconds(10));
  EXPECT_THAT(shard_->Status().blocked_on(), AllOf(HasSubstr("disk: "), HasSubstr("no answer")));
  EXPECT_FALSE(shard_->Status().flow_control());
  EXPECT_THAT(shard_->Health().message(), HasSubstr("no answer"));
  EXPECT_EQ(shard_->Stats().items(), 1);
  disk_faults::Release();
  EXPECT_TRUE(testing::Await([&] { return BlockedByDisk(registry_) == 0; }));
  EXPECT_EQ(shard_->Health(), absl::OkStatus());
  EXPECT_EQ(writer_->Close(kLong), absl::OkStatus());
  EXPECT_EQ(shard_->Stats().items(), 2);
}

}  // namespace
}  // namespace mallocmuzero
