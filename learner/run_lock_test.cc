#include "learner/run_lock.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

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
  EXPECT_THAT(refused.message(), HasSubstr(folder + ": another process is training this run"));
  moved.reset();
  EXPECT_TRUE(RunLock::Acquire(folder).ok());
}

TEST(RunLock, OfOneRunIsNotOfAnother) {
  const absl::StatusOr<RunLock> one = RunLock::Acquire(NewFolder("one"));
  const absl::StatusOr<RunLock> other = RunLock::Acquire(NewFolder("other"));
  EXPECT_TRUE(one.ok() && other.ok());
}

TEST(RunLock, NamesAFolderThatCannotBe) {
  EXPECT_THAT(RunLock::Acquire("/dev/null/run").status().message(), HasSubstr("/dev/null/run: "));
}

}  // namespace
}  // namespace mallocmuzero
