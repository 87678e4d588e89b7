#include "base/child_process.h"

#include <poll.h>

#include <csignal>
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

}  // namespace
}  // namespace mallocmuzero
