// Learning curves of a training run, through the binary.

#include <algorithm>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Report : public ::testing::Test {
 protected:
  RunResult RunReport(const std::string& run, const std::string& output) const {
    return RunMallocmuzero({"report", "--run", run, "--output", output, "--json"});
  }

  // Expects this exit code and one line that contains `part`.
  static void ExpectError(const RunResult& result, int exit_code, const std::string& part) {
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, AllOf(StartsWith("mallocmuzero: "), HasSubstr(part)));
  }

  // A folder with these metrics that looks like a run.
  std::string FakeRun(const std::string& metrics) const {
    std::filesystem::create_directory(folder_.Path("fake"));
    folder_.Write("fake/config.textproto", "");
    folder_.Write("fake/metrics.jsonl", metrics);
    return folder_.Path("fake");
  }

  const TemporaryFolder folder_;
  const std::string output_ = folder_.Path("out/report");
};

TEST_F(Report, DrawsARun) {
  const std::string program = folder_.Path("gpt_small.program");
  const std::string run = folder_.Path("run");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program)).exit_code, 0);
  const RunResult trained =
      RunMallocmuzero({"train", "--program", program, "--output", run, "--iterations", "2",
                       "--threads", "1", "--set", "self_play.games_per_iteration=4", "--json"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;

  const RunResult result = RunReport(run, output_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["iterations"], 2);
  EXPECT_EQ(report["run"], run);
  ASSERT_EQ(report["programs"].size(), 1);
  const json& figures = report["programs"][0];
  EXPECT_TRUE(figures["against_default"].get<bool>());

  // `train` reports the same in cycles.
  const json cycles = json::parse(trained.out)["programs"][0];
  const auto saved = [&](const char* name) {
    return 1 - cycles[name].get<double>() / cycles["default_cycles"].get<double>();
  };
  EXPECT_NEAR(figures["best"].get<double>(), saved("best_cycles"), 1e-9);
  EXPECT_NEAR(figures["policy"].get<double>(), saved("policy_cycles"), 1e-9);
  EXPECT_NEAR(figures["greedy"].get<double>(), saved("greedy_cycles"), 1e-9);

  for (const char* picture : {"returns", "losses", "speed"}) {
    EXPECT_EQ(report[picture], output_ + "/" + picture + ".svg");
    EXPECT_THAT(ReadAll(report[picture]),
                AllOf(StartsWith("<svg "), EndsWith("</svg>\n"), HasSubstr("2 iterations")));
  }
  EXPECT_THAT(ReadAll(report["report"]),
              AllOf(HasSubstr("(returns.svg)"), HasSubstr("(losses.svg)"), HasSubstr("(speed.svg)"),
                    HasSubstr(figures["program"].get<std::string>())));

  // Writes text for the terminal, and writes into the same folder again.
  const RunResult text = RunMallocmuzero({"report", "--run", run, "--output", output_});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(HasSubstr("iterations"), HasSubstr("report.md")));
}

TEST_F(Report, RefusesAFolderWithoutARun) {
  ExpectError(RunReport(folder_.Path("none"), output_), 2, "none: no training run here");
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(Report, RefusesARunWithoutIterations) {
  ExpectError(RunReport(FakeRun(""), output_), 2, "metrics.jsonl: no iteration is finished yet");
  EXPECT_FALSE(std::filesystem::exists(output_));
}

TEST_F(Report, NamesTheLineOfMetricsThatIsNone) {
  ExpectError(RunReport(FakeRun("{\"iteration\":1}\nnonsense\n"), output_), 2, "metrics.jsonl:2: ");
}

TEST_F(Report, TakesIterationsThatSayLittleAndALineCutShort) {
  const RunResult result = RunReport(FakeRun("{\"iteration\":1}\n{\"iter"), output_);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(ReadAll(output_ + "/returns.svg"), HasSubstr("nothing measured yet"));
}

TEST_F(Report, SaysThatItCannotWrite) {
  const std::string file = folder_.Write("file", "");
  const std::string run = FakeRun("{\"iteration\":1}\n");
  ExpectError(RunReport(run, file), 2, "file: cannot make this folder");
  std::filesystem::create_directories(output_ + "/losses.svg");
  ExpectError(RunReport(run, output_), 1, "losses.svg: cannot replace");
}

}  // namespace
}  // namespace mallocmuzero::e2e
