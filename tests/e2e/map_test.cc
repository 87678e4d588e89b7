// Finds the best mapping of a program through the binary.

#include <sys/stat.h>

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
using ::testing::EndsWith;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

constexpr char kShipped[] = MALLOCMUZERO_BINARY_DIR "/share/mallocmuzero/generalist.checkpoint";

class Map : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_b16", program_)).exit_code, 0);
  }

  RunResult RunMap(Arguments more) const {
    Arguments arguments = {"map", "--program", program_, "--output", mapping_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMallocmuzero(arguments);
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("p.program");
  const std::string mapping_ = folder_.Path("m.mapping");
};

TEST_F(Map, FindsAValidMappingThatIsNoWorseThanTheDefaultAndCostsWhatItSays) {
  const RunResult found = RunMap({"--budget", "1s", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json report = json::parse(found.out);
  EXPECT_LE(report["total_cycles"], report["default_cycles"]);
  EXPECT_LT(report["default_cycles"], report["all_hbm_cycles"]);
  EXPECT_FALSE(report["interrupted"]);
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program_, "--mapping", mapping_}).exit_code,
            0);
  const RunResult priced =
      RunMallocmuzero({"simulate", "--program", program_, "--mapping", mapping_, "--json"});
  EXPECT_DOUBLE_EQ(json::parse(priced.out)["total_cycles"], report["total_cycles"]);
}

TEST_F(Map, TheAgentThatComesWithTheSoftwarePlaysUnlessAnotherIsNamed) {
  const RunResult found = RunMap({"--solver", "agent", "--budget", "1s", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json report = json::parse(found.out);
  EXPECT_EQ(report["solver"], "agent");
  const json greedy = json::parse(RunMap({"--solver", "greedy", "--json"}).out);
  EXPECT_LT(report["total_cycles"], greedy["total_cycles"]);
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program_, "--mapping", mapping_}).exit_code,
            0);
}

// start_test.cc shows that it needs none.
TEST_F(Map, APortfolioPlaysTheNetworkThatIsNamed) {
  ExpectOneErrorLine(RunMap({"--budget", "1s", "--checkpoint", program_}), program_);
  const RunResult found = RunMap({"--budget", "1s", "--checkpoint", kShipped});
  EXPECT_EQ(found.exit_code, 0) << found.err;
}

TEST_F(Map, ClimbsOnSeveralThreads) {
  const RunResult found = RunMap({"--threads", "3", "--budget", "1s", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json report = json::parse(found.out);
  EXPECT_LE(report["total_cycles"], report["default_cycles"]);
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program_, "--mapping", mapping_}).exit_code,
            0);
}

// The program's loop begins with a copy that the compiler makes asynchronous, which a mapping
// cannot express.
TEST_F(Map, SaysThatTheCompilersPlacementIsKeptWhereNothingIsCheaper) {
  const std::string program = folder_.Path("while.program");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("while_copied_in", program)).exit_code, 0);
  const RunResult found =
      RunMallocmuzero({"map", "--program", program, "--output", mapping_, "--budget", "200ms"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("that costs less than the compiler's own placement"));
  EXPECT_EQ(RunMallocmuzero({"validate", "--program", program, "--mapping", mapping_}).exit_code,
            0);
}

TEST_F(Map, TheDefaultSolverAnswersWithTheCompilersOwnMapping) {
  const RunResult found = RunMap({"--solver", "default", "--json"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const json report = json::parse(found.out);
  EXPECT_EQ(report["solver"], "default");
  EXPECT_NEAR(report["total_cycles"].get<double>() / report["default_cycles"].get<double>(), 1,
              0.001);
}

TEST_F(Map, DrawsAndExplainsWhatItFound) {
  const std::string picture = folder_.Path("m.svg");
  const RunResult found = RunMap({"--solver", "greedy", "--plot", picture, "--explain"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("Cycles gained"));
  EXPECT_THAT(ReadAll(picture), HasSubstr("<svg"));
}

// The picture goes into a pipe, so the search has ended and the command waits for a reader when the
// signal comes.
TEST_F(Map, ASignalAfterTheSearchDoesNotLoseItsResult) {
  const std::string picture = folder_.Path("m.svg");
  ASSERT_EQ(mkfifo(picture.c_str(), 0600), 0);
  RunningMallocmuzero map({"map", "--program", program_, "--solver", "greedy", "--output", mapping_,
                           "--plot", picture, "--json"});
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(mapping_); }));
  map.Signal(SIGINT);
  map.Signal(SIGTERM);
  EXPECT_THAT(ReadAll(picture), EndsWith("</svg>\n"));
  const RunResult found = map.Wait();
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_FALSE(json::parse(found.out)["interrupted"]);
}

TEST_F(Map, AProgramTooLargeForTheExhaustiveSolverIsRefused) {
  ExpectOneErrorLine(RunMap({"--solver", "exhaustive"}),
                     "accesses may be decided, too many for the solver exhaustive");
}

}  // namespace
}  // namespace mallocmuzero::e2e
