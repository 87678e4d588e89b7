// A shard whose disk hangs or damages bytes.

#include <prometheus/registry.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/status.pb.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"
#include "replay/service/replay_shard.h"
#include "replay/service/testing/disk_faults.h"
#include "replay/testing/shards.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLong = absl::Seconds(30);

double UnreadableItems(const prometheus::Registry& registry) {
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    if (family.name == "mallocmuzero_replay_unreadable_items_total") {
      return family.metric[0].counter.value;
    }
  }
  return -1;
}

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
    Start();
  }
  ~ShardDisk() override {
    disk_faults::Release();
    writer_ = nullptr;
    shard_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  void Start() {
    v1::ReplayShard config = ShardConfig();
    config.set_mode(v1::ReplayShard::DURABLE_SYNC);
    config.set_data_dir(folder_);
    absl::StatusOr<std::unique_ptr<ReplayShard>> shard =
        ReplayShard::Start(config, std::make_shared<Security>(), &registry_);
    EXPECT_TRUE(shard.ok()) << shard.status();
    shard_ = *std::move(shard);
    writer_ = *ReplayWriter::Start({.shards = {AddressOf(*shard_)}});
  }

  void WriteGame(uint64_t index) {
    ASSERT_TRUE(writer_->Write(MakeTrajectory(index, 5)));
    EXPECT_EQ(writer_->Close(kLong), absl::OkStatus());
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

TEST_F(ShardDisk, ADamagedGameIsToldAndDoesNotKeepItsStreamFromOthers) {
  WriteGame(1);
  shard_ = nullptr;
  std::fstream(folder_ + "/segments/00000001.segment",
               std::ios::in | std::ios::out | std::ios::binary)
      .seekp(50)
      .put('!');
  Start();
  const auto sampler = ReplaySampler::Start({.shards = {AddressOf(*shard_)}});
  ASSERT_TRUE(sampler.ok());
  // The only best game is damaged, and no better one arrives.
  const uint64_t drawn = shard_->Stats().drawn_positions();
  ASSERT_TRUE(testing::Await([&] {
    EXPECT_FALSE((*sampler)->Draw(v1::BEST, 1, absl::Milliseconds(100)).ok());
    return shard_->Stats().items() == 0;
  }));
  EXPECT_THAT(shard_->TakeWarnings(), ElementsAre(HasSubstr("segment: wrong checksum")));
  EXPECT_TRUE(testing::Await([&] { return UnreadableItems(registry_) == 1; }));
  // Draws that no client got do not count for the rate limiter.
  EXPECT_TRUE(testing::Await([&] { return shard_->Stats().drawn_positions() == drawn; }));
  WriteGame(2);
  EXPECT_TRUE((*sampler)->Draw(v1::BEST, 10, kLong).ok());
}

}  // namespace
}  // namespace mallocmuzero
