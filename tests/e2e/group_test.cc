// A learner of several processes, one of which is lost. The processes are real ones and use Gloo.
// NCCL needs GPUs; it aborts all processes when one of them is lost, which a test imitates.

#include <csignal>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/free_port.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::FreePort;

// Seconds that a process waits for another one. On a busy machine one that is well may take long,
// and a test waits for the loss of one that hangs. The loss of one that was killed shows at once.
constexpr int kLong = 60;
constexpr int kShort = 5;

class Group : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", folder_.Path("p.program"))).exit_code,
              0);
  }

  std::string WriteConfig(int timeout, const std::string& more = "") const {
    return folder_.Write(
        "c.textproto",
        absl::StrCat(
            "replay { name: 'a' address: '127.0.0.1:", FreePort(),
            "' rate_limit { min_positions: 100 } }\nlearner {\n  workloads: 'p.program'\n"
            "  address: '127.0.0.1:",
            FreePort(), "'\n  processes: 3 ", more,
            "\n  rendezvous_address: '127.0.0.1:", FreePort(),
            "'\n  publish_updates: 1 checkpoint_seconds: 1 group_timeout_seconds: ", timeout,
            "\n  search { simulations: 2 } options { batch_size: 18 unroll_steps: 2 }\n}\n"
            "actor { games_in_flight: 2 }\n"));
  }

  // Waits for the start of the cluster and notes the processes of the learner by rank.
  void Start(RunningMallocmuzero& up) {
    WaitForStart(up, "learner");
    WaitForStart(up, "learner.1");
    WaitForStart(up, "learner.2");
    WaitForUpdates(up);
  }

  void WaitForStart(RunningMallocmuzero& up, const std::string& name) {
    const std::string start = absl::StrCat("I up: ", name, ": started, process ");
    std::string line;
    ASSERT_TRUE(up.WaitForLine(start, &line));
    ASSERT_TRUE(absl::SimpleAtoi(line.substr(line.find(start) + start.size()), &pids_[name]));
  }

  // The step in the next line about the state of the cluster.
  static std::string NextStep(RunningMallocmuzero& up) {
    const std::string mark = "; step ";
    std::string line;
    EXPECT_TRUE(up.WaitForLine(mark, &line));
    const size_t begin = line.find(mark) + mark.size();
    return line.substr(begin, line.find(',', begin) - begin);
  }

  // Waits until process 0 has made another update.
  static void WaitForUpdates(RunningMallocmuzero& up) {
    const std::string before = NextStep(up);
    while (NextStep(up) == before) {
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }

  const TemporaryFolder folder_;
  std::map<std::string, pid_t> pids_;
};

TEST_F(Group, TheOthersNameALostProcessAndMeetItAgain) {
  RunningMallocmuzero up({"up", "--config", WriteConfig(kShort), "--status-every", "500ms"});
  ASSERT_NO_FATAL_FAILURE(Start(up));
  kill(pids_["learner.1"], SIGKILL);
  ASSERT_TRUE(up.WaitForLine("the group of learner processes: process 1 of the learner is lost: "));
  ASSERT_TRUE(up.WaitForLine("the group of learner processes is there again"));
  WaitForUpdates(up);
  // A process that hangs is lost after group_timeout_seconds.
  kill(pids_["learner.2"], SIGSTOP);
  ASSERT_TRUE(up.WaitForLine(
      "the group of learner processes: process 2 of the learner is lost: no heartbeat for "));
  kill(pids_["learner.2"], SIGCONT);
  ASSERT_TRUE(up.WaitForLine("the group of learner processes is there again"));
  WaitForUpdates(up);
  up.Signal(SIGTERM);
  EXPECT_EQ(up.Wait().exit_code, 0);
}

TEST_F(Group, AllStartAnewFromTheLastCheckpoint) {
  RunningMallocmuzero up(
      {"up", "--config", WriteConfig(kLong, "restart_together: true"), "--status-every", "500ms"});
  ASSERT_NO_FATAL_FAILURE(Start(up));
  kill(pids_["learner.1"], SIGKILL);
  ASSERT_TRUE(up.WaitForLine("cannot go on: process 1 of the learner is lost: "));
  std::string line;
  ASSERT_TRUE(up.WaitForLine("learner: step ", &line));
  EXPECT_EQ(line.find("step 0,"), std::string::npos) << line;
  WaitForUpdates(up);
  up.Signal(SIGTERM);
  EXPECT_EQ(up.Wait().exit_code, 0);
}

TEST_F(Group, ComesBackAfterAnAbortOfAllProcesses) {
  RunningMallocmuzero up({"up", "--config", WriteConfig(kLong), "--status-every", "500ms"});
  ASSERT_NO_FATAL_FAILURE(Start(up));
  // There is a checkpoint of a later step than 0.
  for (int i = 0; i < 4; ++i) WaitForUpdates(up);
  kill(pids_["learner.1"], SIGKILL);
  // NCCL's watchdog aborts each of the others.
  kill(pids_["learner"], SIGABRT);
  kill(pids_["learner.2"], SIGABRT);
  std::string line;
  ASSERT_TRUE(up.WaitForLine("learner: step ", &line));
  EXPECT_EQ(line.find("step 0,"), std::string::npos) << line;
  WaitForUpdates(up);
  up.Signal(SIGTERM);
  EXPECT_EQ(up.Wait().exit_code, 0);
}

}  // namespace
}  // namespace mallocmuzero::e2e
