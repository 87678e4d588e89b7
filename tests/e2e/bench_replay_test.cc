// Measures the speed of a replay shard through the binary.

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "rpc/testing/await.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::Await;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BenchReplay, MeasuresInsertsAndSamplesOfEachMode) {
  for (const char* mode : {"memory", "durable", "durable_sync"}) {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder.Path("data"));
    const RunResult result = RunMallocmuzero(
        {"bench", "replay", "--item-bytes", "1000", "--clients", "2", "--mode", mode, "--items",
         "500", "--seconds", "0.2", "--data-dir", folder.Path("data"), "--json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json report = json::parse(result.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_EQ(report["mode"], mode);
    EXPECT_EQ(report["item_bytes"], 1000);
    EXPECT_EQ(report["clients"], 2);
    EXPECT_GT(report["inserts_per_second"], 0);
    EXPECT_GT(report["samples_per_second"], 0);
    EXPECT_GT(report["insert_p50_ms"], 0);
    EXPECT_GE(report["insert_p99_ms"], report["insert_p50_ms"]);
    EXPECT_GT(report["sample_p50_ms"], 0);
    EXPECT_GE(report["sample_p99_ms"], report["sample_p50_ms"]);
    // The command removes its data.
    EXPECT_TRUE(std::filesystem::is_empty(folder.Path("data")));
  }
}

TEST(BenchReplay, ClearsUpBehindItWhenItIsInterrupted) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.Path("data"));
  RunningMallocmuzero bench({"bench", "replay", "--item-bytes", "1000", "--mode", "durable",
                             "--items", "500", "--seconds", "600", "--data-dir",
                             folder.Path("data")});
  ASSERT_TRUE(Await([&] { return !std::filesystem::is_empty(folder.Path("data")); }));
  bench.Signal(SIGINT);
  const RunResult result = bench.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "mallocmuzero: interrupted\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path("data")));
}

TEST(BenchReplay, RefusesATimeThatCannotBe) {
  const RunResult result = RunMallocmuzero({"bench", "replay", "--seconds", "nan"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("--seconds"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
