#include "replay/client/acknowledged_log.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/testing/full_disk.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::StartsWith;

TEST(AcknowledgedLog, TheLineThatWasCutShortStaysTheLast) {
  const std::string path = ::testing::TempDir() + "/acknowledged_log/cut.ids";
  std::filesystem::remove(path);
  const std::string first(kItemIdBytes, 'a');
  const std::string second(kItemIdBytes, 'b');
  const absl::StatusOr<std::unique_ptr<AcknowledgedLog>> log = AcknowledgedLog::Open(path);
  ASSERT_TRUE(log.ok()) << log.status();
  (*log)->Append(first);
  EXPECT_EQ((*log)->status(), absl::OkStatus());
  {
    const FileSizeLimit limit(40);
    (*log)->Append(second);
  }
  EXPECT_TRUE(absl::IsResourceExhausted((*log)->status())) << (*log)->status();
  (*log)->Append(std::string(kItemIdBytes, 'c'));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, absl::StrCat(absl::BytesToHexString(first), "\n",
                               absl::BytesToHexString(second).substr(0, 7)));
  std::filesystem::remove(path);
}

TEST(AcknowledgedLog, ADiskWithoutRoomIsNoMistakeOfTheOperator) {
  const std::string folder = ::testing::TempDir() + "/acknowledged_log_full";
  const std::optional<bool> is_right = testing::OnFullDisk(folder, [&folder] {
    return absl::IsResourceExhausted(AcknowledgedLog::Open(folder + "/a.ids").status()) &&
           absl::IsResourceExhausted(AcknowledgedLog::Open(folder + "/new/a.ids").status());
  });
  if (!is_right.has_value()) GTEST_SKIP() << "this process may not mount a disk";
  EXPECT_TRUE(*is_right);
}

TEST(AcknowledgedLog, NamesTheFolderThatCannotBeMade) {
  const absl::Status status = AcknowledgedLog::Open("/proc/audit/a.ids").status();
  EXPECT_THAT(std::string(status.message()), StartsWith("acknowledged_log: /proc/audit: "));
}

}  // namespace
}  // namespace mallocmuzero
