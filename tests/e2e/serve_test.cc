// `serve` as a process of its own, with clients that are processes of their own.

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/await.h"
#include "rpc/testing/free_port.h"
#include "tests/e2e/http_get.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::Await;
using mallocmuzero::testing::FreePort;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

constexpr char kShipped[] = MALLOCMUZERO_BINARY_DIR "/share/mallocmuzero/generalist.checkpoint";

// JSON has 64-bit integers as strings.
double NumberOf(const nlohmann::json& value) {
  return value.is_string() ? std::atof(value.get<std::string>().c_str()) : 0;
}

class Serve : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    suite_folder_ = std::make_unique<TemporaryFolder>();
    const RunResult imported =
        RunMallocmuzero(ImportArguments("dlrm", suite_folder_->Path("dlrm.program")));
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
  }
  static void TearDownTestSuite() { suite_folder_ = nullptr; }
  static std::string Program() { return suite_folder_->Path("dlrm.program"); }

  // Starts the server, and returns when it listens.
  void StartServer(const Arguments& more = {}) {
    Arguments arguments = {"serve",
                           "--address",
                           address_,
                           "--set",
                           absl::StrCat("metrics_address=127.0.0.1:", metrics_port_),
                           "--set",
                           "reload_seconds=0.05"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    server_ = std::make_unique<RunningMallocmuzero>(arguments);
    ASSERT_TRUE(server_->WaitForLine(absl::StrCat(" I serve: listens on ", address_)));
  }

  Arguments Map(const std::string& budget, const std::string& output) const {
    return {"map",      "--server", address_,   "--program",          Program(),
            "--budget", budget,     "--output", folder_.Path(output), "--json"};
  }

  // The value of a metric of the server; -1 if it is not there.
  double Metric(const std::string& name) const {
    const std::string metrics = HttpGet("127.0.0.1", metrics_port_, "/metrics");
    const size_t at = metrics.find(absl::StrCat("\nmallocmuzero_serve_", name, " "));
    if (at == std::string::npos) return -1;
    return std::atof(metrics.c_str() + metrics.find(' ', at));
  }
  bool AwaitRunning(double searches) const {
    return Await([&] { return Metric("running") == searches; });
  }

  static std::unique_ptr<TemporaryFolder> suite_folder_;
  const TemporaryFolder folder_;
  const uint16_t metrics_port_ = FreePort();
  const std::string address_ = absl::StrCat("127.0.0.1:", FreePort());
  std::unique_ptr<RunningMallocmuzero> server_;
};

std::unique_ptr<TemporaryFolder> Serve::suite_folder_;

TEST_F(Serve, TwoClientsGetValidMappingsThatGain) {
  StartServer({"--set", "searches=2", "--set", "evaluators=1"});
  RunningMallocmuzero first(Map("4s", "first.mapping"));
  RunningMallocmuzero second(Map("4s", "second.mapping"));
  for (auto* client : {&first, &second}) {
    const RunResult result = client->Wait();
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto report = nlohmann::json::parse(result.out);
    EXPECT_LT(report["total_cycles"], report["default_cycles"]);
    EXPECT_GT(NumberOf(report["games"]), 1);
  }
  for (const char* mapping : {"first.mapping", "second.mapping"}) {
    const RunResult valid =
        RunMallocmuzero({"validate", "--program", Program(), "--mapping", folder_.Path(mapping)});
    EXPECT_EQ(valid.exit_code, 0) << valid.out;
  }
  EXPECT_EQ(Metric("requests_total{outcome=\"ok\"}"), 2);
  EXPECT_GT(Metric("batch_rows_count"), 0);  // the network played
}

TEST_F(Serve, AClientThatCancelsKeepsItsBestAndFreesItsPlace) {
  StartServer();
  RunningMallocmuzero client(Map("10m", "m.mapping"));
  ASSERT_TRUE(AwaitRunning(1));
  ASSERT_TRUE(Await([&] { return Metric("better_total") > 0; }));
  client.Signal(SIGINT);
  const RunResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["interrupted"], true);
  EXPECT_TRUE(AwaitRunning(0));
}

TEST_F(Serve, AClientThatDiesFreesItsPlace) {
  StartServer();
  RunningMallocmuzero client(Map("10m", "m.mapping"));
  ASSERT_TRUE(AwaitRunning(1));
  client.Signal(SIGKILL);
  client.Wait();
  EXPECT_TRUE(AwaitRunning(0));
  // The server counts the request after its place is free.
  EXPECT_TRUE(Await([&] { return Metric("requests_total{outcome=\"cancelled\"}") == 1; }));
}

TEST_F(Serve, RefusesAProgramThatIsTooLarge) {
  StartServer({"--set", "max_program_bytes=1000"});
  const RunResult result = RunMallocmuzero(Map("1s", "m.mapping"));
  ExpectOneErrorLine(result, "at most 1000 .max_program_bytes.");
}

TEST_F(Serve, PlaysACheckpointThatReplacesItsOwn) {
  const std::string checkpoint = folder_.Path("network");
  std::filesystem::copy_file(kShipped, checkpoint);
  StartServer({"--checkpoint", checkpoint});
  RunningMallocmuzero client(Map("3s", "m.mapping"));
  ASSERT_TRUE(AwaitRunning(1));
  std::filesystem::copy_file(kShipped, folder_.Path("newer"));
  std::filesystem::rename(folder_.Path("newer"), checkpoint);
  EXPECT_TRUE(server_->WaitForLine("new searches play the network of step "));
  folder_.Write("newer", "no checkpoint");
  std::filesystem::rename(folder_.Path("newer"), checkpoint);
  EXPECT_TRUE(server_->WaitForLine(" W serve: goes on with the network before: "));
  EXPECT_EQ(client.Wait().exit_code, 0);
  EXPECT_EQ(RunMallocmuzero(Map("300ms", "n.mapping")).exit_code, 0);
  EXPECT_EQ(Metric("reloads_total{result=\"loaded\"}"), 1);
  EXPECT_EQ(Metric("reloads_total{result=\"failed\"}"), 1);
}

TEST_F(Serve, SigtermGivesRunningClientsTheirBest) {
  StartServer();
  RunningMallocmuzero client(Map("10m", "m.mapping"));
  // Until the first mapping there is no best one.
  ASSERT_TRUE(Await([&] { return Metric("better_total") >= 1; }));
  server_->Signal(SIGTERM);
  const RunResult ended = server_->Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" I serve: stopped in "));
  const RunResult result = client.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["interrupted"], true);
}

TEST_F(Serve, SurvivesBrokenRequests) {
  StartServer({"--set", "max_budget_seconds=0.02", "--set", "searches=4"});
  const RunResult load = RunMallocmuzero({"bench", "serve", "--server", address_, "--messages",
                                          MALLOCMUZERO_SOURCE_DIR "/tests/fuzz/corpus/serve",
                                          "--mutate", "--requests", "3000", "--timeout", "10s",
                                          "--server-pid", absl::StrCat(server_->pid()), "--json"});
  ASSERT_EQ(load.exit_code, 0) << load.err;
  const auto report = nlohmann::json::parse(load.out);
  EXPECT_EQ(NumberOf(report["requests"]), 3000);
  EXPECT_GT(NumberOf(report["codes"]["OK"]), 500);
  // Most of them are bytes that are no message.
  EXPECT_GT(NumberOf(report["codes"]["INVALID_ARGUMENT"]), 500);
  EXPECT_LT(NumberOf(report["last_server_bytes"]), 1.2 * NumberOf(report["first_server_bytes"]));
  EXPECT_EQ(RunMallocmuzero(Map("20ms", "m.mapping")).exit_code, 0);
}

TEST_F(Serve, MistakesAreOneLine) {
  ExpectOneErrorLine(RunMallocmuzero({"serve", "--address", "0.0.0.0:7500"}),
                     "can be reached from other machines");
  ExpectOneErrorLine(RunMallocmuzero({"serve", "--checkpoint", folder_.Path("none")}),
                     "a checkpoint, or the folder of a training run");
  ExpectOneErrorLine(RunMallocmuzero({"serve", "--set", "searches=many"}), "searches");
  const std::string two = folder_.Write("two.textproto", "searches: -1\nsearchs: 3\n");
  const RunResult mistakes = RunMallocmuzero({"serve", "--config", two});
  EXPECT_EQ(mistakes.exit_code, 2);
  EXPECT_THAT(mistakes.err, HasSubstr(":1: searches: Expected integer, got: -\n"));
  EXPECT_THAT(mistakes.err, HasSubstr(":2: searchs: no such field; searches is one\n"));
  EXPECT_THAT(mistakes.err, HasSubstr("two.textproto: 2 mistakes\n"));
  Arguments no_address = Map("1s", "m.mapping");
  no_address[2] = "nowhere";
  ExpectOneErrorLine(RunMallocmuzero(no_address), "--server: host:port expected");
  Arguments network = Map("1s", "m.mapping");
  network.insert(network.end(), {"--checkpoint", kShipped});
  ExpectOneErrorLine(RunMallocmuzero(network), "--checkpoint: the server of --server");
  const RunResult nobody = RunMallocmuzero(Map("1s", "m.mapping"));
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.err, HasSubstr(absl::StrCat("--server ", address_, ": ")));
}

}  // namespace
}  // namespace mallocmuzero::e2e
