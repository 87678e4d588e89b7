#include "base/child_process.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/stop_signal.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

constexpr int kPatienceMilliseconds = 20'000;

// Says how the child has ended; "" if it does not end.
std::string EndOf(ChildProcess& child) {
  pollfd ended = {.fd = child.exit_fd(), .events = POLLIN};
  poll(&ended, 1, kPatienceMilliseconds);
  std::string how;
  child.HasEnded(how);
  return how;
}

TEST(ChildProcess, ASignalBeforeItsProgramRunsIsForTheChildAlone) {
  const StopSignal stop;
  for (int i = 0; i < 20; ++i) {
    const absl::StatusOr<std::unique_ptr<ChildProcess>> child =
        ChildProcess::Start({"/bin/sleep", "60"});
    ASSERT_TRUE(child.ok()) << child.status();
    (*child)->Signal(SIGTERM);
    EXPECT_EQ(EndOf(**child), "killed by signal 15 (Terminated)");
  }
  EXPECT_FALSE(stop.Wait(absl::ZeroDuration()));
}

TEST(ChildProcess, LeavesSignalsIgnoredInItsProgram) {
  const auto before = std::signal(SIGHUP, SIG_IGN);  // as nohup does
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start({"/bin/sh", "-c", "kill -HUP $$; exit 3"});
  std::signal(SIGHUP, before);
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(EndOf(**child), "exited with code 3");
}

TEST(ChildProcess, TellsHowItEndedWhereSigchldWasIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start({"/bin/sh", "-c", "exit 3"});
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(EndOf(**child), "exited with code 3");
  std::signal(SIGCHLD, before);
}

// From now on pidfd_open fails in this process, as on a kernel that does not have it. Returns false
// if this machine permits no such filter.
bool HidePidfdOpen() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = std::size(filter), .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether a child that ends and one that is killed are noticed.
bool NoticesEnds() {
  const absl::StatusOr<std::unique_ptr<ChildProcess>> ends =
      ChildProcess::Start({"/bin/sh", "-c", "exit 3"});
  const absl::StatusOr<std::unique_ptr<ChildProcess>> killed =
      ChildProcess::Start({"/bin/sleep", "60"});
  if (!ends.ok() || !killed.ok()) return false;
  pollfd runs = {.fd = (*killed)->exit_fd(), .events = POLLIN};
  if (poll(&runs, 1, 0) != 0) return false;
  (*killed)->Signal(SIGKILL);
  return EndOf(**ends) == "exited with code 3" && EndOf(**killed) == "killed by signal 9 (Killed)";
}

// In a process of its own, whose filter stays.
TEST(ChildProcess, NeedsNoPidfdOpen) {
  constexpr int kNoFilter = 77;
  const pid_t tester = fork();
  ASSERT_GE(tester, 0);
  if (tester == 0) _exit(!HidePidfdOpen() ? kNoFilter : NoticesEnds() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(tester, &status, 0), tester);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "this machine permits no filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace mallocmuzero
