// Measures the speed of the search through the binary.

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

// Sizes that are small enough to run under a sanitizer.
RunResult BenchSearch(const Arguments& more) {
  Arguments arguments = {"bench", "search",        "--batch", "4",         "--seconds",
                         "0.2",   "--simulations", "8",       "--threads", "2"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunMallocmuzero(arguments);
}

json BenchSearchForJson(Arguments more) {
  more.emplace_back("--json");
  const RunResult result = BenchSearch(more);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out, nullptr, /*allow_exceptions=*/false);
}

void ExpectConsistentSpeeds(const json& report) {
  const double search = report["simulations_per_second"];
  const double tree_only = report["tree_only_per_second"];
  EXPECT_GT(search, 0);
  EXPECT_GT(report["network_only_per_second"], 0);
  // A tree without a network is some hundred times as fast as one with a network.
  EXPECT_GT(tree_only, 3 * search);
  EXPECT_GT(report["tree_share"], 0);
  EXPECT_LT(report["tree_share"], 0.5);
  EXPECT_EQ(report["batch"], 4);
  EXPECT_EQ(report["simulations"], 8);
  EXPECT_EQ(report["threads"], 2);
  EXPECT_EQ(report["seconds"], 0.2);
}

TEST(BenchSearch, MeasuresTheReferenceNetworkOfTheSizeAskedFor) {
  for (const char* precision : {"fp32", "bf16"}) {
    const json report = BenchSearchForJson(
        {"--hidden", "64", "--support", "101", "--actions", "5", "--precision", precision});
    ExpectConsistentSpeeds(report);
    EXPECT_EQ(report["network"], "reference");
    EXPECT_EQ(report["hidden"], 64);
    EXPECT_EQ(report["support"], 101);
    EXPECT_EQ(report["actions"], 5);
    EXPECT_EQ(report["precision"], precision);
    // Two operations for each weight: dynamics 69 x 64 and 64 x 64, both heads 64 x 64 and 64 x
    // 101, policy 64 x 5.
    EXPECT_EQ(report["flops"], 2 * (69 * 64 + 64 * 64 + 2 * (64 * 64 + 64 * 101) + 64 * 5));
  }
}

TEST(BenchSearch, MeasuresAPresetAsItIs) {
  const json report = BenchSearchForJson({"--network", "tiny"});
  ExpectConsistentSpeeds(report);
  EXPECT_EQ(report["network"], "tiny");
  EXPECT_EQ(report["hidden"], 64);
  EXPECT_EQ(report["support"], 41);
}

TEST(BenchSearch, PrintsATable) {
  const RunResult result = BenchSearch({"--hidden", "8", "--support", "3"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("2 threads"));
  EXPECT_THAT(result.out, ContainsRegex("network only +[0-9,]+\n"));
  EXPECT_THAT(result.out, ContainsRegex("[0-9.]+ % of the search"));
}

TEST(BenchSearch, APresetHasNoSizesToChoose) {
  const RunResult result = BenchSearch({"--network", "tiny", "--hidden", "32"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("tiny has sizes of its own"));
}

TEST(BenchSelfPlay, SaysWhatShareOfTheSearchIsLeft) {
  const std::string program = MALLOCMUZERO_SOURCE_DIR "/workloads/tpu_v4i/c3d_32_b8x16x64.program";
  const RunResult result =
      RunMallocmuzero({"bench", "self-play", "--program", program, "--batch", "8", "--simulations",
                       "4", "--seconds", "0.2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(report["program"], "c3d_32_b8x16x64");
  const double decisions = report["decisions_per_second"];
  EXPECT_GT(decisions, 0);
  // Every decision is searched, with 4 simulations.
  EXPECT_NEAR(report["simulations_per_second"], 4 * decisions, 0.05 * 4 * decisions);
  EXPECT_NEAR(report["share_of_search"],
              double{report["simulations_per_second"]} / double{report["search_per_second"]}, 1e-6);
  const double game = report["game_share"];
  const double network = report["network_share"];
  const double tree = report["tree_share"];
  EXPECT_NEAR(game + network + tree, 1, 1e-9);
}

TEST(BenchLearner, SaysHowManyUpdatesASecond) {
  const RunResult result = RunMallocmuzero(
      {"bench", "learner", "--rows", "8", "--unroll-steps", "2", "--seconds", "0.2", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_EQ(report["network"], "tiny");
  EXPECT_EQ(report["device"], "cpu");
  const double updates = report["updates_per_second"];
  EXPECT_GT(updates, 0);
  EXPECT_NEAR(report["rows_per_second"], 8 * updates, 1e-6 * updates);
  EXPECT_LE(report["update_p50_ms"], report["update_p99_ms"]);
  // The mean time of an update lies between the least and the greatest.
  EXPECT_GT(2 * double{report["update_p99_ms"]}, 1000 / updates);
}

TEST(BenchSelfPlay, RefusesWhatCannotBeMeasured) {
  const RunResult result =
      RunMallocmuzero({"bench", "self-play", "--program", "absent.program", "--seconds", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("absent.program"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
