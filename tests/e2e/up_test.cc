// Runs a whole cluster on one machine through the binary: starts it, watches it, kills parts of it,
// stops it.

#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rpc/testing/await.h"
#include "rpc/testing/free_port.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::Await;
using mallocmuzero::testing::FreePort;
using nlohmann::json;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class Up : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", folder_.Path("p.program"))).exit_code,
              0);
  }

  std::string WriteConfig() const {
    const auto shard = [](const char* name, uint16_t metrics_port) {
      return absl::StrCat("replay { name: '", name, "' address: '127.0.0.1:", FreePort(),
                          "' metrics_address: '127.0.0.1:", metrics_port,
                          "' rate_limit { min_positions: 100 } }\n");
    };
    return folder_.Write(
        "c.textproto",
        absl::StrCat(shard("a", shard_metrics_), shard("b", FreePort()),
                     "learner {\n  workloads: 'p.program'\n  address: '127.0.0.1:", FreePort(),
                     "'\n  metrics_address: '127.0.0.1:", learner_metrics_,
                     "'\n  publish_updates: 1 checkpoint_seconds: 1\n"
                     "  search { simulations: 2 } options { batch_size: 16 unroll_steps: 2 }\n}\n"
                     "actor { count: 1 games_in_flight: 2 metrics_address: '127.0.0.1:",
                     actor_metrics_, "' }\n"));
  }

  // Waits for the log line about the start of a process, and returns the process's id.
  static pid_t WaitForStart(RunningMallocmuzero& up, const std::string& name) {
    const std::string start = absl::StrCat("I up: ", name, ": started, process ");
    std::string line;
    if (!up.WaitForLine(start, &line)) return -1;
    return std::stoi(line.substr(line.find(start) + start.size()));
  }

  const TemporaryFolder folder_;
  const uint16_t shard_metrics_ = FreePort();
  const uint16_t learner_metrics_ = FreePort();
  const uint16_t actor_metrics_ = FreePort();
  const std::string config_ = WriteConfig();
};

TEST_F(Up, RunsAClusterUntilItIsTerminated) {
  RunningMallocmuzero up({"up", "--config", config_, "--status-every", "500ms"});
  ASSERT_TRUE(up.WaitForLine("4 of 4 processes, 0 restarts; step 2"));
  // A role may be too busy to answer one `status`, and the first games may all be in shard b.
  json roles;
  ASSERT_TRUE(Await([&] {
    roles = json::parse(RunMallocmuzero({"status", "--config", config_, "--json"}).out)["roles"];
    return roles.size() == 3 && roles[0]["figures"]["positions"] > 0 && !roles[2]["peers"].empty();
  })) << roles.dump(1);
  EXPECT_EQ(roles[2]["peers"][0]["role"], "ACTOR");
  // Not healthy, though all rows may be.
  RunResult few;
  EXPECT_TRUE(Await([&] {
    few = RunMallocmuzero({"status", "--config", config_, "--set", "actor.expected=9"});
    return few.out.find("; too few actors\n") != std::string::npos;
  })) << few.out;
  EXPECT_EQ(few.exit_code, 1);
  up.Signal(SIGTERM);
  const RunResult ended = up.Wait();
  EXPECT_EQ(ended.exit_code, 0);
  // Roles that need others stop first.
  const size_t actor = ended.err.find("up: actor.0: exited with code 0");
  const size_t learner = ended.err.find("up: learner: exited with code 0");
  const size_t shard = ended.err.find("up: a: exited with code 0");
  ASSERT_NE(shard, std::string::npos) << ended.err;
  EXPECT_LT(actor, learner);
  EXPECT_LT(learner, shard);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("run/checkpoints/latest")));
  EXPECT_THAT(ReadAll(folder_.Path("logs/learner.log")), HasSubstr("listens on"));
}

TEST_F(Up, StartsAgainWhatIsKilled) {
  RunningMallocmuzero up({"up", "--config", config_, "--status-every", "500ms"});
  const pid_t learner = WaitForStart(up, "learner");
  ASSERT_GT(learner, 0);
  ASSERT_TRUE(up.WaitForLine("; step 2"));
  kill(learner, SIGKILL);
  ASSERT_TRUE(up.WaitForLine("learner: killed by signal 9"));
  EXPECT_NE(WaitForStart(up, "learner"), learner);
  ASSERT_TRUE(up.WaitForLine("4 of 4 processes, 1 restarts"));
  up.Signal(SIGINT);
  EXPECT_EQ(up.Wait().exit_code, 0);
}

// The games that actors have played, by the output of `status`.
double GamesOf(const json& status) {
  double games = 0;
  for (const json& role : status.value("roles", json::array())) {
    for (const json& actor : role.value("peers", json::array())) {
      games += actor.value("figures", json::object()).value("games", 0.0);
    }
  }
  return games;
}

// Expects that the line is a LogRecord, and returns its role.
std::string RoleOfJsonLine(const std::string& line) {
  const json record = json::parse(line, nullptr, /*allow_exceptions=*/false);
  for (const char* field : {"time", "severity", "role", "message"}) {
    EXPECT_TRUE(record.is_object() && record.contains(field)) << line;
  }
  return record.is_object() ? record.value("role", "") : "";
}

TEST_F(Up, LogsOneJsonObjectALine) {
  RunningMallocmuzero up({"up", "--config", config_, "--log-format", "json"});
  std::string line;
  ASSERT_TRUE(up.WaitForLine("listens on", &line));
  EXPECT_THAT(RoleOfJsonLine(line), AnyOf("a", "b"));
  up.Signal(SIGTERM);
  const RunResult ended = up.Wait();
  EXPECT_EQ(ended.exit_code, 0);
  std::set<std::string> roles;
  const std::vector<std::string> lines = absl::StrSplit(ended.err, '\n', absl::SkipEmpty());
  for (const std::string& later : lines) roles.insert(RoleOfJsonLine(later));
  EXPECT_EQ(roles.count("up"), 1);
  const RunResult wrong =
      RunMallocmuzero({"replay", "--config", config_, "--log-format", "json", "--shard", "none"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(json::parse(wrong.err).value("message", ""), HasSubstr("--shard"));
}

// A round of 32 evaluation games is due once in 3,200 games, and the actor has one program.
TEST_F(Up, KeepsAScoredCheckpointWithinAFewThousandGamesByDefault) {
  constexpr double kMostGames = 3200;
  const std::string config = folder_.Write(
      "defaults.textproto",
      absl::StrCat("learner { workloads: 'p.program' address: '127.0.0.1:", FreePort(),
                   "' }\nreplay { name: 'a' address: '127.0.0.1:", FreePort(), "' }\n"));
  RunningMallocmuzero up({"up", "--config", config, "--status-every", "500ms"});
  ASSERT_TRUE(up.WaitForLine("3 of 3 processes, 0 restarts; step"));
  json kept = json::array();
  double games = 0;
  while (kept.empty() && games < kMostGames) {
    ASSERT_TRUE(up.WaitForLine("3 of 3 processes, 0 restarts; step"));
    const RunResult status = RunMallocmuzero({"status", "--config", config, "--json"});
    games = GamesOf(json::parse(status.out));
    const RunResult list = RunMallocmuzero({"checkpoints", "--run", folder_.Path("run"), "--json"});
    kept = json::parse(list.out).value("checkpoints", json::array());
  }
  ASSERT_FALSE(kept.empty()) << games << " games";
  EXPECT_GE(kept[0]["manifest"]["scores"][0]["games"], 8);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("run/checkpoints/best/checkpoint")));
  up.Signal(SIGTERM);
  EXPECT_EQ(up.Wait().exit_code, 0);
}

TEST_F(Up, StopsByItselfAndLeavesNoProcess) {
  RunningMallocmuzero up({"up", "--config", config_, "--for", "1s"});
  const pid_t shard = WaitForStart(up, "b");
  ASSERT_GT(shard, 0);
  EXPECT_EQ(up.Wait().exit_code, 0);
  EXPECT_EQ(kill(shard, 0), -1);
}

TEST_F(Up, GivesUpIfARoleCannotRun) {
  RunningMallocmuzero other({"replay", "--config", config_, "--shard", "a"});
  ASSERT_TRUE(other.WaitForLine("listens on"));
  const RunResult up = RunMallocmuzero({"up", "--config", config_});
  EXPECT_EQ(up.exit_code, 1);
  EXPECT_THAT(up.err, HasSubstr("E up: a cannot run: it exited with code 2 3 times"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
