#include "learner/run_lock.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

std::string NewFolder(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/run_lock_test_" + name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(RunLock, IsHeldOnceAtATime) {
  const std::string folder = NewFolder("once");
  absl::StatusOr<RunLock> first = RunLock::Acquire(folder);
  ASSERT_TRUE(first.ok()) << first.status();
  std::optional<RunLock> moved = *std::move(first);
  const absl::Status refused = RunLock::Acquire(folder).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(),
              HasSubstr(absl::StrCat(folder, ": another process is training this run (process ",
                                     getpid(), " on ")));
  moved.reset();
  EXPECT_TRUE(RunLock::Acquire(folder).ok());
}

TEST(RunLock, TellsThatAnotherProcessHasTakenOver) {
  const std::string folder = NewFolder("taken");
  const absl::StatusOr<RunLock> lock = RunLock::Acquire(folder);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(lock->Check(), absl::OkStatus());
  // On a file system without locks a second process gets the lock, too.
  std::ofstream(folder + "/lock") << "process 1 on b, since today";
  EXPECT_EQ(lock->Check().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(lock->Check().message(),
              HasSubstr(folder + "/lock: another process has taken over this run (process 1 on b"));
  // A file that cannot be read proves nothing.
  std::filesystem::remove(folder + "/lock");
  EXPECT_EQ(lock->Check(), absl::OkStatus());
}

TEST(RunLock, OfOneRunIsNotOfAnother) {
  const absl::StatusOr<RunLock> one = RunLock::Acquire(NewFolder("one"));
  const absl::StatusOr<RunLock> other = RunLock::Acquire(NewFolder("other"));
  EXPECT_TRUE(one.ok() && other.ok());
}

TEST(RunLock, NamesAFolderThatCannotBe) {
  const absl::Status status = RunLock::Acquire("/dev/null/run").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("/dev/null/run: "));
}

}  // namespace
}  // namespace mallocmuzero
