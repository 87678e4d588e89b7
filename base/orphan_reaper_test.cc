#include "base/orphan_reaper.h"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/child_process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

// Waits for the end of a child and returns its exit code, or -1 if it does not end.
int ExitCodeOf(ChildProcess& child, std::string* output = nullptr) {
  const absl::Time deadline = absl::Now() + kPatience;
  std::string how;
  while (!child.HasEnded(how)) {
    if (absl::Now() > deadline) return -1;
    if (output != nullptr) *output += child.ReadOutput();
    absl::SleepFor(absl::Milliseconds(10));
  }
  if (output != nullptr) *output += child.ReadOutput();
  return child.exit_code();
}

std::unique_ptr<ChildProcess> Start(const std::vector<std::string>& command) {
  absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(command);
  EXPECT_TRUE(child.ok()) << child.status();
  return child.ok() ? *std::move(child) : nullptr;
}

// Whether a process exists, also as a zombie.
bool Exists(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

// The code of the first process of a PID namespace. The test below starts it, and both have the
// same folder for temporary files.
TEST(OrphanReaperAsFirstProcess, DISABLED_ReapsOrphansAndLeavesOwnChildren) {
  ASSERT_EQ(getpid(), 1);
  const OrphanReaper reaper;
  const std::string file = ::testing::TempDir() + "/pid";
  const std::unique_ptr<ChildProcess> owned = Start({"/bin/sh", "-c", "exit 3"});
  ASSERT_NE(owned, nullptr);
  // The shell ends at once, so that its child becomes an orphan.
  const std::unique_ptr<ChildProcess> shell =
      Start({"/bin/sh", "-c", absl::StrCat("(sleep 0.1 & echo $! > ", file, ")")});
  ASSERT_NE(shell, nullptr);
  EXPECT_EQ(ExitCodeOf(*shell), 0);
  pid_t orphan = 0;
  std::ifstream(file) >> orphan;
  ASSERT_GT(orphan, 1);
  // The reaper has time to find the child that is not its own, which it must not reap.
  absl::SleepFor(absl::Seconds(2));
  EXPECT_TRUE(Exists(owned->pid()));
  EXPECT_EQ(ExitCodeOf(*owned), 3);
  const absl::Time deadline = absl::Now() + kPatience;
  while (Exists(orphan) && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE(Exists(orphan));
}

TEST(OrphanReaper, TheFirstProcessReapsOrphansAndLeavesOwnChildren) {
  const std::unique_ptr<ChildProcess> probe =
      Start({"/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork", "/bin/true"});
  ASSERT_NE(probe, nullptr);
  if (ExitCodeOf(*probe) != 0) GTEST_SKIP() << "this machine permits no PID namespaces";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::unique_ptr<ChildProcess> first =
      Start({"/usr/bin/unshare", "--user", "--map-root-user", "--pid", "--fork", self,
             "--gtest_filter=OrphanReaperAsFirstProcess.*", "--gtest_also_run_disabled_tests"});
  ASSERT_NE(first, nullptr);
  std::string output;
  EXPECT_EQ(ExitCodeOf(*first, &output), 0) << output;
  EXPECT_THAT(output, ::testing::HasSubstr("[  PASSED  ] 1 test"));
}

}  // namespace
}  // namespace mallocmuzero
