// Bad usage of the commands of mallocmuzero-agent: exit code 2, nothing on stdout, and one line on
// stderr that names what is wrong. They run in this process, because the executable takes a second
// to start.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/size32.h"
#include "cli/agent/commands.h"
#include "cli/command.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome RunHere(Arguments arguments) {
  arguments.insert(arguments.begin(), "mallocmuzero");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.exit_code =
      RunCommandLine({.add_commands = AddAgentCommands}, Size32(arguments), argv.data());
  outcome.err = ::testing::internal::GetCapturedStderr();
  outcome.out = ::testing::internal::GetCapturedStdout();
  return outcome;
}

void ExpectOneErrorLine(const Arguments& arguments, const std::string& says) {
  const Outcome outcome = RunHere(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << says;
  EXPECT_THAT(outcome.out, IsEmpty()) << says;
  EXPECT_THAT(outcome.err, StartsWith("mallocmuzero: "));
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(says));
}

// Writes a file of this test, and returns its path.
std::string Write(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  EXPECT_TRUE(WriteFileAtomically(path, text).ok());
  return path;
}

TEST(BadUsageOfTrain, IsOneLineAndLeavesNothing) {
  const std::string run = absl::StrCat(::testing::TempDir(), "/run");
  const struct {
    Arguments arguments;
    const char* says;
  } cases[] = {
      {{"--budget", "0s"}, "--budget"},
      {{"--budget", ""}, "--budget: expected a value, found ''"},
      {{"--network", "huge"}, "huge"},
      {{"--network", "base", "--config", "c"}, "--network"},
      {{"--resume"}, "no training run here"},
      {{"--demonstrations", "-1"}, "--demonstrations: expected a number from 0 to 86400, found"},
      {{"--demonstrations", "1e6"}, "--demonstrations: expected a number from 0 to 86400, found"},
      {{"--demonstrations", "nan"}, "--demonstrations: "},
      {{"--set", "self_play.threads=4096"}, "--set: self_play.threads"},
      {{"--device", "tpu"}, "--device: expected cpu, cuda or auto, found 'tpu'"},
      {{"--config", "/no/such/file"}, "/no/such/file"},
      {{"--metrics", "nowhere"}, "nowhere"},
      {{"--from", "/no/such/file"}, "/no/such/file"},
      {{"--from", "c", "--resume"}, "--from"},
      {{"--from", "c", "--network", "tiny"}, "--from"},
      {{"--iterations", "0"}, "--iterations"},
      {{"--threads", "99999999"}, "--threads: expected a whole number from 0 to 1024"},
  };
  for (const auto& test : cases) {
    Arguments arguments = {"train", "--program", "p.program", "--output", run};
    arguments.insert(arguments.end(), test.arguments.begin(), test.arguments.end());
    ExpectOneErrorLine(arguments, test.says);
    EXPECT_FALSE(std::filesystem::exists(run)) << test.says;
  }
  EXPECT_EQ(RunHere({"train", "--output", run}).exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(run));
}

constexpr char kTwoShards[] =
    "replay { name: 'a' address: '127.0.0.1:7410' }\n"
    "replay { name: 'b' mode: MEMORY address: '127.0.0.1:7411' }\n"
    "learner { workloads: 'none' address: '127.0.0.1:7400' }\n";

TEST(BadUsageOfACluster, IsOneLine) {
  const std::string config = Write("c.textproto", kTwoShards);
  const std::string none = absl::StrCat(::testing::TempDir(), "/none.textproto");
  const struct {
    Arguments arguments;
    std::string says;
  } cases[] = {
      {{"replay"}, "--config"},
      {{"replay", "--config", none}, none},
      {{"replay", "--config", config}, "--shard"},
      {{"replay", "--config", config, "--shard", "c"}, "it has a, b"},
      {{"status", "--config", config, "--set", "learner.run_dri=/x"},
       "--set learner.run_dri=/x: no field 'run_dri'; run_dir is one"},
      {{"status", "--config", config, "--set", "actor.count=many"},
       "--set actor.count=many: uint32 expected"},
      {{"status", "--config", config, "--set", "actor"}, "--set actor: FIELD=VALUE expected"},
      {{"replay", "--config", config, "--drain", "maybe"}, "--drain"},
      {{"replay", "--config", config, "--list-ids", "--checkpoint"}, "--checkpoint"},
      {{"bench", "actors", "--config", config, "--games-per-second", "3"}, "--actors"},
      {{"bench", "actors", "--config", config, "--actors", "0"}, "--actors"},
      {{"up", "--config", config, "--for", "0s"}, "--for"},
      {{"up", "--config", config, "--for", ""}, "--for: expected a value, found ''"},
      {{"up", "--config", config, "--for="}, "--for: "},
      {{"replay", "--config", config, "--shard", "a", "--rate-limit", ""},
       "--rate-limit: expected a value, found ''"},
      // Only a learner needs the programs.
      {{"learner", "--config", config}, "learner.workloads[0]: no file or folder"},
  };
  for (const auto& test : cases) ExpectOneErrorLine(test.arguments, test.says);
}

TEST(BadUsageOfACluster, EveryMistakeOfTheConfigurationIsSaid) {
  const std::string wrong =
      Write("wrong.textproto", "learner { adress: 'a' }\nactor { games_in_flight: 0 }\n");
  for (const char* command : {"up", "learner", "status", "actor", "replay"}) {
    const Outcome outcome = RunHere({command, "--config", wrong});
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr("mallocmuzero: " + wrong + ":1: adress: no such field"));
    EXPECT_THAT(outcome.err, HasSubstr("mallocmuzero: " + wrong + ":2: actor.games_in_flight: "));
  }
}

TEST(BadUsageOfBenchSearch, IsWhatCannotBeMeasured) {
  const Arguments cases[] = {
      {"--batch", "0"},    {"--precision", "fp8"}, {"--hidden", "0"},
      {"--hidden", "1"},   {"--seconds", "-1"},    {"--seconds", "nan"},
      {"--support", "64"}, {"--network", "huge"},  {"--batch", "1000000"},
  };
  for (const Arguments& flag : cases) {
    SCOPED_TRACE(flag[0] + " " + flag[1]);
    ExpectOneErrorLine({"bench", "search", flag[0], flag[1], "--json"}, flag[0].substr(2));
  }
}

}  // namespace
}  // namespace mallocmuzero::cli
