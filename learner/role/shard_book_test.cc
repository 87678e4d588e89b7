#include "learner/role/shard_book.h"

#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/client/shard_roster.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ShardBookTest : public ::testing::Test {
 protected:
  ShardBookTest() : folder_(::testing::TempDir() + "/shard_book") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (const char* name : {"a", "b"}) {
      v1::ReplayShard& shard = *config_.add_replay();
      shard.set_name(name);
      shard.set_address(absl::StrCat("127.0.0.1:", 7000 + config_.replay_size()));
    }
  }
  ~ShardBookTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ShardBook> Open() const {
    auto book = ShardBook::Open(folder_, config_);
    EXPECT_TRUE(book.ok()) << book.status();
    return book.ok() ? *std::move(book) : nullptr;
  }

  const std::string folder_;
  v1::ClusterConfig config_;
};

TEST_F(ShardBookTest, KeepsChangesWhenTheLearnerStartsAgain) {
  v1::ChangeShardsRequest request;
  {
    const std::unique_ptr<ShardBook> book = Open();
    ASSERT_NE(book, nullptr);
    EXPECT_EQ(book->roster().epoch(), 1);
    request.mutable_add()->set_name("c");
    request.mutable_add()->set_address("127.0.0.1:7003");
    EXPECT_EQ(book->Change(request)->epoch(), 2);
    request.set_begin_removal("a");
    EXPECT_EQ(book->Change(request)->epoch(), 3);
    request.set_end_removal("a");
    EXPECT_EQ(book->Change(request)->epoch(), 4);
  }
  // The configuration is as old as before.
  const std::unique_ptr<ShardBook> again = Open();
  ASSERT_NE(again, nullptr);
  EXPECT_THAT(ActiveShards(again->roster()), ElementsAre(ShardAddress{"b", "127.0.0.1:7002"},
                                                         ShardAddress{"c", "127.0.0.1:7003"}));
  EXPECT_EQ(again->notes().size(), 2);
}

TEST_F(ShardBookTest, KeepsAShardThatTheConfigurationHadOnce) {
  const v1::ClusterConfig before = config_;
  ASSERT_NE(Open(), nullptr);
  v1::ReplayShard& added = *config_.add_replay();
  added.set_name("c");
  added.set_address("127.0.0.1:7003");
  EXPECT_EQ(ActiveShards(Open()->roster()).size(), 3);
  // Its games must not be lost with its section.
  config_ = before;
  const std::unique_ptr<ShardBook> again = Open();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(ActiveShards(again->roster()).size(), 3);
  EXPECT_EQ(again->notes().size(), 1);
}

TEST_F(ShardBookTest, ARefusedChangeChangesNothing) {
  const std::unique_ptr<ShardBook> book = Open();
  ASSERT_NE(book, nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(book->Change(v1::ChangeShardsRequest()).status()));
  v1::ChangeShardsRequest request;
  request.set_begin_removal("z");
  EXPECT_TRUE(absl::IsNotFound(book->Change(request).status()));
  EXPECT_EQ(book->roster().epoch(), 1);
}

TEST_F(ShardBookTest, AChangeThatCannotBeStoredIsNotMade) {
  const std::unique_ptr<ShardBook> book = Open();
  ASSERT_NE(book, nullptr);
  std::filesystem::remove_all(folder_);
  v1::ChangeShardsRequest request;
  request.set_begin_removal("a");
  EXPECT_FALSE(book->Change(request).ok());
  EXPECT_EQ(ActiveShards(book->roster()).size(), 2);
}

TEST_F(ShardBookTest, NamesAFileThatIsDamaged) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/shards.textproto", "shards { name: 'a' }").ok());
  const absl::Status status = ShardBook::Open(folder_, config_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("shards.textproto"));
}

}  // namespace
}  // namespace mallocmuzero
