#include "replay/client/acknowledged_log.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
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
  std::filesystem::create_directories(folder);
  constexpr int kCannotMount = 2;
  // Only the child sees the disk, which has room for its root and no file.
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder.c_str(), "tmpfs", 0, "nr_inodes=1") != 0) {
      _exit(kCannotMount);
    }
    const bool is_right =
        absl::IsResourceExhausted(AcknowledgedLog::Open(folder + "/a.ids").status()) &&
        absl::IsResourceExhausted(AcknowledgedLog::Open(folder + "/new/a.ids").status());
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "this process may not mount a disk";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(AcknowledgedLog, NamesTheFolderThatCannotBeMade) {
  const absl::Status status = AcknowledgedLog::Open("/proc/audit/a.ids").status();
  EXPECT_THAT(std::string(status.message()), StartsWith("acknowledged_log: /proc/audit: "));
}

}  // namespace
}  // namespace mallocmuzero
