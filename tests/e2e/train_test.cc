// Trains through the binary: a run, its resumption, its end by a signal, its metrics, and how `map`
// uses the result.

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rpc/testing/free_port.h"
#include "tests/e2e/http_get.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::FreePort;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

class Train : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program_)).exit_code, 0);
  }

  // Few games, because an iteration makes an update for every 256 of their decisions.
  Arguments TrainArguments(Arguments more) const {
    Arguments arguments = {"train",    "--program", program_,
                           "--output", run_,        "--threads",
                           "1",        "--set",     "self_play.games_per_iteration=4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  RunResult RunTrain(Arguments more) const {
    return RunMallocmuzero(TrainArguments(std::move(more)));
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("p.program");
  const std::string run_ = folder_.Path("run");
};

TEST_F(Train, LeavesARunThatCanBeResumedAndAMappingThatIsValid) {
  const RunResult first = RunTrain({"--iterations", "1", "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(json::parse(first.out)["iterations"], 1);
  const RunResult second = RunTrain({"--iterations", "3", "--resume", "--json"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  const json report = json::parse(second.out);
  EXPECT_EQ(report["iterations"], 3);
  EXPECT_GT(report["updates"], 0);
  EXPECT_FALSE(report["interrupted"]);
  const json& program = report["programs"][0];
  EXPECT_LE(program["best_cycles"], program["policy_cycles"]);
  const RunResult priced = RunMallocmuzero(
      {"simulate", "--program", program_, "--mapping", program["best_mapping"], "--json"});
  ASSERT_EQ(priced.exit_code, 0) << priced.err;
  EXPECT_NEAR(
      json::parse(priced.out)["total_cycles"].get<double>() / program["best_cycles"].get<double>(),
      1, 1e-9);
  EXPECT_EQ(
      RunMallocmuzero({"validate", "--program", program_, "--mapping", program["best_mapping"]})
          .exit_code,
      0);
}

TEST_F(Train, GoesOnWithTheNetworksOfAnotherRun) {
  ASSERT_EQ(RunTrain({"--iterations", "2"}).exit_code, 0);
  const std::string checkpoint = folder_.Path("first");
  std::filesystem::rename(run_ + "/checkpoints/latest", checkpoint);
  std::filesystem::remove_all(run_);
  const RunResult result = RunTrain({"--iterations", "1", "--from", checkpoint});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::filesystem::remove_all(run_);
  const RunResult other =
      RunTrain({"--iterations", "1", "--from", checkpoint, "--set", "network.latent=128"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("network: "));
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST_F(Train, SigtermAndAHangupSaveTheRun) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    std::filesystem::remove_all(run_);
    RunningMallocmuzero train(TrainArguments({"--json"}));
    ASSERT_TRUE(train.WaitForLine("iteration 1:"));
    train.Signal(signal);
    const RunResult ended = train.Wait();
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const json report = json::parse(ended.out);
    EXPECT_TRUE(report["interrupted"]);
    EXPECT_GE(report["iterations"], 1);
    EXPECT_EQ(RunTrain({"--iterations", "1", "--resume"}).exit_code, 0);
  }
}

TEST_F(Train, AFlagThatWouldChangeAResumedRunIsRefused) {
  ASSERT_EQ(RunTrain({"--iterations", "1", "--seed", "3"}).exit_code, 0);
  const std::string settings = ReadAll(run_ + "/config.textproto");
  const std::string other = folder_.Write(
      "other.textproto", absl::StrReplaceAll(settings, {{"\nseed: 3\n", "\nseed: 5\n"}}));
  const struct {
    const char* flag;
    const char* value;
  } cases[] = {
      {"--network", "small"}, {"--demonstrations", "1"},         {"--seed", "4"},
      {"--threads", "2"},     {"--set", "search.simulations=3"}, {"--config", other.c_str()},
  };
  for (const auto& [flag, value] : cases) {
    const RunResult result = RunMallocmuzero(
        {"train", "--program", program_, "--output", run_, "--resume", flag, value});
    ExpectOneErrorLine(result,
                       absl::StrCat(flag, ": would change the run, .*run/config.textproto"));
  }
  EXPECT_EQ(ReadAll(run_ + "/config.textproto"), settings);
  // The flags of the run's start change nothing.
  const RunResult same = RunTrain({"--iterations", "1", "--resume", "--seed", "3", "--network",
                                   "tiny", "--set", "self_play.games_per_iteration=4"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  const RunResult same_file =
      RunTrain({"--iterations", "1", "--resume", "--config", run_ + "/config.textproto"});
  EXPECT_EQ(same_file.exit_code, 0) << same_file.err;
}

TEST_F(Train, ARunThatHasLostItsCheckpointIsRefusedInOneLine) {
  ASSERT_EQ(RunTrain({"--iterations", "1"}).exit_code, 0);
  std::filesystem::remove(run_ + "/checkpoints/latest");
  const RunResult result = RunTrain({"--iterations", "2", "--resume"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("checkpoints/latest: missing"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST_F(Train, RefusesAFolderThatCannotBeMade) {
  const std::string run = folder_.Write("file", "") + "/run";
  ExpectOneErrorLine(RunMallocmuzero({"train", "--program", program_, "--output", run}),
                     "file/run: cannot make this folder: Not a directory");
}

TEST_F(Train, AKilledRunGoesOnFromItsCheckpoint) {
  {
    // Only the checkpoint of its start, however many iterations it makes until it is killed.
    RunningMallocmuzero train(TrainArguments({"--set", "checkpoint_iterations=1000"}));
    ASSERT_TRUE(train.WaitForLine("iteration 1:"));
    train.Signal(SIGKILL);
    train.Wait();
  }
  const RunResult resumed = RunTrain({"--iterations", "2", "--resume", "--json"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(json::parse(resumed.out)["iterations"], 2);
}

TEST_F(Train, ServesMetrics) {
  const uint16_t port = FreePort();
  const std::string address = absl::StrCat("127.0.0.1:", port);
  RunningMallocmuzero train(TrainArguments({"--metrics", address}));
  ASSERT_TRUE(train.WaitForLine("iteration 1:"));
  const std::string metrics = HttpGet("127.0.0.1", port, "/metrics");
  // The run goes on, so that there may be more by now.
  EXPECT_THAT(metrics, ContainsRegex("\nmallocmuzero_train_iterations_total [1-9]"));
  EXPECT_THAT(metrics, HasSubstr("mallocmuzero_train_return_ratio{"));
  // A second run cannot use the same port.
  const RunResult second = RunMallocmuzero(
      {"train", "--program", program_, "--output", folder_.Path("other"), "--metrics", address});
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr(address));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("other")));
}

TEST_F(Train, TheAgentPlaysInMap) {
  ASSERT_EQ(RunTrain({"--iterations", "1"}).exit_code, 0);
  const std::string mapping = folder_.Path("m.mapping");
  const RunResult found =
      RunMallocmuzero({"map", "--program", program_, "--output", mapping, "--solver", "agent",
                       "--checkpoint", run_ + "/checkpoints/latest", "--budget", "1s", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json report = json::parse(found.out);
  EXPECT_EQ(report["solver"], "agent");
  EXPECT_LT(report["total_cycles"], report["all_hbm_cycles"]);
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program_, "--mapping", mapping}).exit_code,
            0);
}

TEST_F(Train, BenchSaysHowWellValuesRankGames) {
  const Arguments enough = {"--iterations", "2", "--set", "self_play.games_per_iteration=64"};
  ASSERT_EQ(RunTrain(enough).exit_code, 0);
  const Arguments arguments = {
      "bench",  "values",  "--checkpoint", run_ + "/checkpoints/latest", "--program",
      program_, "--games", "24",           "--least-difference",         "0.001",
      "--json"};
  const RunResult result = RunMallocmuzero(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["games"], 24);
  EXPECT_EQ(report["new_programs"], 0);
  EXPECT_EQ(report["points"].size(), 7);
  ASSERT_EQ(report["totals"].size(), 2);
  for (const json& total : report["totals"]) {
    EXPECT_GT(total["whole"]["pairs"], 0);
    EXPECT_GT(total["whole"]["right"], 0.5);
    EXPECT_LE(total["whole"]["right"], 1);
  }
}

TEST_F(Train, ACheckpointThatIsNoneIsBadInput) {
  const std::string checkpoint = folder_.Write("c", "no checkpoint");
  for (const std::string& path : {checkpoint, folder_.Path("none")}) {
    const RunResult result =
        RunMallocmuzero({"map", "--program", program_, "--output", folder_.Path("m.mapping"),
                         "--solver", "agent", "--checkpoint", path, "--budget", "1s"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr(path));
  }
}

TEST_F(Train, ABudgetTooShortForAGameNamesNoMapping) {
  const RunResult result = RunTrain({"--budget", "1ms"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::Not(HasSubstr("best mapping")));
}

TEST_F(Train, NamesProgramsWhoseGamesAreTooLongForTheStore) {
  const RunResult result = RunTrain({"--iterations", "1", "--set", "replay.max_decisions=1"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("replay.max_decisions: games of "));
}

TEST_F(Train, ARunIsTrainedByOneProcessAtATime) {
  RunningMallocmuzero train(TrainArguments({}));
  ASSERT_TRUE(train.WaitForLine("iteration 1:"));
  const RunResult second = RunTrain({"--iterations", "1", "--resume"});
  ExpectOneErrorLine(second, "run: another process is training this run");
}

TEST_F(Train, ASecondRunInTheSameFolderIsRefused) {
  ASSERT_EQ(RunTrain({"--iterations", "1"}).exit_code, 0);
  const RunResult again = RunTrain({"--iterations", "1"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
