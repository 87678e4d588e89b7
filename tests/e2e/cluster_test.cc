// The roles of a cluster as commands: a shard that serves, and questions to it; and bad usage.

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/free_port.h"
#include "tests/e2e/http_get.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::FreePort;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

class Cluster : public ::testing::Test {
 protected:
  // A config with a durable shard "a" and a memory shard "b".
  std::string WriteConfig() const {
    return folder_.Write(
        "c.textproto",
        absl::StrCat("replay { name: 'a' address: '127.0.0.1:", port_,
                     "' metrics_address: '127.0.0.1:", metrics_port_,
                     "' }\nreplay { name: 'b' mode: MEMORY address: '127.0.0.1:", FreePort(),
                     "' }\nlearner { workloads: 'none' address: '127.0.0.1:", FreePort(), "' }\n"));
  }

  const TemporaryFolder folder_;
  const uint16_t port_ = FreePort();
  const uint16_t metrics_port_ = FreePort();
  const std::string config_ = WriteConfig();
};

TEST_F(Cluster, AShardServesUntilItIsTerminated) {
  RunningMallocmuzero shard({"replay", "--config", config_, "--shard", "a"});
  ASSERT_TRUE(shard.WaitForLine(" I a: listens on 127.0.0.1:"));
  const std::string metrics = HttpGet("127.0.0.1", metrics_port_, "/metrics");
  EXPECT_THAT(metrics, HasSubstr("\nmallocmuzero_replay_items 0\n"));
  EXPECT_THAT(metrics, HasSubstr("\nprocess_resident_memory_bytes "));
  shard.Signal(SIGTERM);
  const RunResult ended = shard.Wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr(" I a: stopped in "));
}

TEST_F(Cluster, ADrainedShardIsWellButNotReady) {
  RunningMallocmuzero shard({"replay", "--config", config_, "--shard", "a"});
  ASSERT_TRUE(shard.WaitForLine(" I a: listens on 127.0.0.1:"));
  EXPECT_THAT(HttpGet("127.0.0.1", metrics_port_, "/readyz"), HasSubstr(" 200 "));
  const Arguments drain = {"replay", "--config", config_, "--shard", "a", "--drain", "on"};
  ASSERT_EQ(RunMallocmuzero(drain).exit_code, 0);
  const std::string answer = HttpGet("127.0.0.1", metrics_port_, "/readyz");
  EXPECT_THAT(answer, HasSubstr(" 503 "));
  EXPECT_THAT(answer, HasSubstr("draining: inserts are refused"));
  EXPECT_THAT(HttpGet("127.0.0.1", metrics_port_, "/healthz"), HasSubstr(" 200 "));
}

TEST_F(Cluster, AnActorWithoutALearnerIsWellButNotReady) {
  const uint16_t port = FreePort();
  const std::string config =
      folder_.Write("actor.textproto",
                    absl::StrCat("learner { workloads: 'none' address: '127.0.0.1:", FreePort(),
                                 "' }\nactor { metrics_address: '127.0.0.1:", port, "' }\n"));
  RunningMallocmuzero actor({"actor", "--config", config});
  ASSERT_TRUE(actor.WaitForLine(" W actor.0: the learner on "));
  EXPECT_THAT(HttpGet("127.0.0.1", port, "/healthz"), HasSubstr(" 200 "));
  const std::string answer = HttpGet("127.0.0.1", port, "/readyz");
  EXPECT_THAT(answer, HasSubstr(" 503 "));
  EXPECT_THAT(answer, HasSubstr("waits for: learner"));
}

// For Kubernetes, a Job whose process exits with 0 has done its work and does not start again.
TEST_F(Cluster, ALearnerThatIsStoppedFailsIfItIsToStartAgain) {
  ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", folder_.Path("p.program"))).exit_code, 0);
  const std::string config = folder_.Write(
      "learner.textproto",
      absl::StrCat("replay { name: 'b' mode: MEMORY address: '127.0.0.1:", port_,
                   "' }\nlearner { workloads: 'p.program' address: '127.0.0.1:", FreePort(),
                   "' }\n"));
  RunningMallocmuzero shard({"replay", "--config", config});
  ASSERT_TRUE(shard.WaitForLine(" I b: listens on 127.0.0.1:"));
  for (const bool starts_again : {false, true}) {
    Arguments arguments = {"learner", "--config", config};
    if (starts_again) arguments.emplace_back("--fail-when-stopped");
    RunningMallocmuzero learner(arguments);
    ASSERT_TRUE(learner.WaitForLine(", listens on 127.0.0.1:"));
    learner.Signal(SIGTERM);
    const RunResult ended = learner.Wait();
    EXPECT_EQ(ended.exit_code, starts_again ? 1 : 0) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(" I learner: stopped in "));
  }
}

TEST_F(Cluster, MistakesAreOneLine) {
  RunningMallocmuzero shard({"replay", "--config", config_, "--shard", "a"});
  ASSERT_TRUE(shard.WaitForLine("listens on"));
  // This shard has data of its own, but the port of the running one.
  const std::string taken = folder_.Write(
      "taken.textproto",
      absl::StrCat("replay { name: 'c' mode: MEMORY address: '127.0.0.1:", port_, "' }\n",
                   "learner { workloads: 'none' address: '127.0.0.1:", FreePort(), "' }\n",
                   "actor { metrics_address: '127.0.0.1:18170' }\n"));
  ExpectOneErrorLine(RunMallocmuzero({"replay", "--config", taken}),
                     "c: address: cannot listen on '127.0.0.1:");
  ExpectOneErrorLine(
      RunMallocmuzero({"actor", "--config", taken, "--index", "60000"}),
      "--index: 60000: actor.metrics_address is 127.0.0.1:18170, so that 0 to 47365");
  ExpectOneErrorLine(RunMallocmuzero({"replay", "--config", taken, "--rate-limit", "samples: 2"}),
                     "--rate-limit:1: samples: no such field; here may be samples_per_insert, "
                     "min_positions, error_buffer");
  ExpectOneErrorLine(
      RunMallocmuzero({"replay", "--config", taken, "--rate-limit", "samples_per_insert: two"}),
      "--rate-limit:1: samples_per_insert: Expected double");
}

TEST_F(Cluster, ARunningShardIsAskedThings) {
  RunningMallocmuzero shard({"replay", "--config", config_, "--shard", "a"});
  ASSERT_TRUE(shard.WaitForLine("listens on"));
  const auto ask = [&](Arguments more) {
    Arguments arguments = {"replay", "--config", config_, "--shard", "a"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMallocmuzero(arguments);
  };
  EXPECT_EQ(ask({"--list-ids"}).exit_code, 0);
  EXPECT_EQ(ask({"--drain", "on"}).exit_code, 0);
  EXPECT_EQ(ask({"--rate-limit", "samples_per_insert: 2 error_buffer: 10"}).exit_code, 0);
  // Such a limiter would block for ever.
  const RunResult refused = ask({"--rate-limit", "samples_per_insert: 2 error_buffer: 0"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("error_buffer"));
  EXPECT_THAT(ask({"--rate-limit", "nonsense"}).err, HasSubstr("--rate-limit"));
  const RunResult copy = ask({"--checkpoint"});
  EXPECT_EQ(copy.exit_code, 0) << copy.err;
  EXPECT_THAT(copy.out, HasSubstr(folder_.Path("replay")));
  // Shard b does not run.
  const RunResult all = RunMallocmuzero({"replay", "--config", config_, "--list-ids"});
  EXPECT_EQ(all.exit_code, 1);
}

TEST_F(Cluster, ASecondShardDoesNotGetTheAddressOfTheFirst) {
  RunningMallocmuzero shard({"replay", "--config", config_, "--shard", "a"});
  ASSERT_TRUE(shard.WaitForLine("listens on"));
  const RunResult second = RunMallocmuzero({"replay", "--config", config_, "--shard", "a"});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, StartsWith("mallocmuzero: "));
}

TEST_F(Cluster, FlagsAndTheEnvironmentSetFields) {
  const std::string other = absl::StrCat("127.0.0.1:", FreePort());
  const std::string third = absl::StrCat("127.0.0.1:", FreePort());
  const RunResult flag = RunMallocmuzero(
      {"status", "--config", config_, "--json", "--set", "replay.1.address=" + other});
  EXPECT_THAT(flag.out, HasSubstr(other));
  setenv("MALLOCMUZERO_SET_replay__1__address", other.c_str(), 1);
  const RunResult variable = RunMallocmuzero({"status", "--config", config_, "--json"});
  const RunResult both = RunMallocmuzero(
      {"status", "--config", config_, "--json", "--set", "replay[1].address=" + third});
  unsetenv("MALLOCMUZERO_SET_replay__1__address");
  EXPECT_THAT(variable.out, HasSubstr(other));
  EXPECT_THAT(both.out, HasSubstr(third));
  EXPECT_THAT(both.out, Not(HasSubstr(other)));
}

TEST_F(Cluster, AnActorAloneWaitsAndStops) {
  RunningMallocmuzero actor({"actor", "--config", config_, "--index", "3"});
  ASSERT_TRUE(actor.WaitForLine(" I actor.3: will play for the learner on "));
  ASSERT_TRUE(actor.WaitForLine(" W actor.3: the learner on 127.0.0.1:"));
  actor.Signal(SIGINT);
  const RunResult ended = actor.Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

}  // namespace
}  // namespace mallocmuzero::e2e
