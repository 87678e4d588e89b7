// `status` of a cluster that runs only in part, or not at all. up_test.cc has a whole cluster.

#include <string>

#include "absl/strings/str_cat.h"
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
using ::testing::ContainsRegex;

class Status : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string config_ =
      folder_.Write("c.textproto",
                    absl::StrCat("replay { name: 'a' mode: MEMORY address: '127.0.0.1:", FreePort(),
                                 "' }\nlearner { address: '127.0.0.1:", FreePort(), "' }\n"));
};

TEST_F(Status, RolesThatAreAwayAreRows) {
  RunningMallocmuzero shard({"replay", "--config", config_});
  ASSERT_TRUE(shard.WaitForLine("listens on"));
  // On a busy machine an answer, also that nobody listens, may take longer than `status` waits.
  RunResult text;
  ASSERT_TRUE(Await([&] {
    text = RunMallocmuzero({"status", "--config", config_});
    return text.out.find(" ok ") != std::string::npos &&
           text.out.find("refused") != std::string::npos;
  })) << text.out;
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, ContainsRegex("replay +a +127.0.0.1:[0-9]+ +ok "));
  EXPECT_THAT(text.out, ContainsRegex("learner +learner +127.0.0.1:[0-9]+ +away .*refused"));
  RunResult machine;
  json status;
  ASSERT_TRUE(Await([&] {
    machine = RunMallocmuzero({"status", "--config", config_, "--json"});
    status = json::parse(machine.out);
    return status["roles"][0]["error"] == "";
  })) << machine.out;
  EXPECT_EQ(machine.exit_code, 1);
  EXPECT_FALSE(status["healthy"]);
  ASSERT_EQ(status["roles"].size(), 2);
  EXPECT_EQ(status["roles"][0]["role"], "REPLAY");
  EXPECT_EQ(status["roles"][0]["error"], "");
  EXPECT_EQ(status["roles"][0]["figures"]["positions"], 0);
  EXPECT_EQ(status["roles"][1]["role"], "LEARNER");
  EXPECT_NE(status["roles"][1]["error"], "");
}

TEST_F(Status, HelpSaysEverythingThatIsNotHealthy) {
  const RunResult help = RunMallocmuzero({"status", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, ContainsRegex("Exit code 1: .*away, blocked or degraded"));
}

TEST_F(Status, OfNothingIsNotHealthy) {
  const RunResult result = RunMallocmuzero({"status", "--config", config_, "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const json roles = json::parse(result.out)["roles"];
  EXPECT_FALSE(roles.empty());
  for (const json& role : roles) EXPECT_NE(role["error"], "");
}

}  // namespace
}  // namespace mallocmuzero::e2e
