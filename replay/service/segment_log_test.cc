#include "replay/service/segment_log.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

// A log whose segments are full after one item of these tests.
class SegmentLogTest : public ::testing::Test {
 protected:
  SegmentLogTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/segment_log_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    log_ = *SegmentLog::Open({.folder = folder_, .segment_bytes = 1000, .sync = false});
  }
  ~SegmentLogTest() override { std::filesystem::remove_all(folder_); }

  static Item LargeItem(uint64_t index) { return MakeItem(index, 1, 0, 2000); }

  SegmentPlace Append(uint64_t index) {
    const Item item = LargeItem(index);
    const Item* const items[] = {&item};
    return (*log_->Append(items)).front();
  }

  static bool Exists(const std::string& folder, uint32_t segment) {
    return std::filesystem::exists(absl::StrCat(folder, "/0000000", segment, ".segment"));
  }

  std::string folder_;
  std::unique_ptr<SegmentLog> log_;
};

TEST_F(SegmentLogTest, WhatIsBeingReadIsNotOverwritten) {
  const SegmentPlace place = Append(1);
  Append(2);
  const std::shared_ptr<const SegmentFile> file = log_->File(place);
  log_->Release(place);
  EXPECT_FALSE(Exists(folder_, 1));
  // A new segment may take over the file of one that nobody needs.
  Append(3);
  const absl::StatusOr<grpc::Slice> bytes = file->Read(place);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(ViewOf(*bytes), ViewOf(LargeItem(1).wire));
}

TEST_F(SegmentLogTest, ACopyHasTheSegmentsThatLeaveWhileItIsMade) {
  const SegmentPlace place = Append(1);
  log_->Pin();
  Append(2);
  log_->Release(place);
  const std::string copy = folder_ + "/copy";
  std::filesystem::create_directories(copy);
  ASSERT_EQ(log_->LinkInto(copy), absl::OkStatus());
  EXPECT_TRUE(Exists(copy, 1));
  EXPECT_TRUE(Exists(copy, 2));
  log_->Unpin();
  EXPECT_FALSE(Exists(folder_, 1));
  EXPECT_TRUE(Exists(copy, 1));
}

TEST_F(SegmentLogTest, APlaceOutsideItsSegmentIsNotUsed) {
  const SegmentPlace place = Append(1);
  SegmentPlace wrong = place;
  wrong.offset = 1;
  EXPECT_FALSE(log_->Use(wrong));
  wrong = place;
  ++wrong.bytes;
  EXPECT_FALSE(log_->Use(wrong));
  wrong = place;
  ++wrong.segment;
  EXPECT_FALSE(log_->Use(wrong));
  EXPECT_TRUE(log_->Use(place));
}

}  // namespace
}  // namespace mallocmuzero
