// The table of captured programs that `corpus` writes.

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A corpus of one program, gpt_small.
class Corpus : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.Path("tpu_v4i"));
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program_)).exit_code, 0);
    folder_.Write("split.csv", "name,family,split\ngpt_small,language,validation\n");
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("tpu_v4i/gpt_small.program");
};

TEST_F(Corpus, UpdatesTheTableOfAReadme) {
  const std::string readme = folder_.Write(
      "README.md", "# Workloads\n<!-- corpus:begin -->\nold\n<!-- corpus:end -->\nrest\n");
  const RunResult result =
      RunMallocmuzero({"corpus", "--workloads", folder_.Path(""), "--write", readme});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(ReadAll(readme),
              AllOf(HasSubstr("# Workloads\n<!-- corpus:begin -->\n### tpu_v4i\n"),
                    HasSubstr("| gpt_small | language | validation |"),
                    HasSubstr("|\n<!-- corpus:end -->\nrest\n"), Not(HasSubstr("old"))));
}

TEST_F(Corpus, PrintsProgramsWithTheirPlacementsAsJson) {
  const RunResult result = RunMallocmuzero({"corpus", "--workloads", folder_.Path(""), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json program = nlohmann::json::parse(result.out)["programs"].at(0);
  EXPECT_EQ(program["report"]["program"], "gpt_small");
  EXPECT_EQ(program["report"]["placements"], program["calibration"]["placements"].size());
}

TEST_F(Corpus, RefusesAProgramThatTheSplitDoesNotList) {
  folder_.Write("split.csv", "name,family,split\n");
  const RunResult result = RunMallocmuzero({"corpus", "--workloads", folder_.Path("")});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("gpt_small.program"), HasSubstr("split.csv")));
}

TEST_F(Corpus, KeepsTheTableIfTheFolderHasNoProgram) {
  std::filesystem::remove(program_);
  const std::string readme =
      folder_.Write("README.md", "<!-- corpus:begin -->\nold\n<!-- corpus:end -->\n");
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--json"}, {"--write", readme}}) {
    std::vector<std::string> arguments = {"corpus", "--workloads", folder_.Path("")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    ExpectOneErrorLine(RunMallocmuzero(arguments), "no \\.program file");
  }
  EXPECT_THAT(ReadAll(readme), HasSubstr("old"));
}

// A committed folder of programs, from the root of the repository.
class CommittedCorpus : public ::testing::TestWithParam<const char*> {};

TEST_P(CommittedCorpus, HasAnUpToDateTable) {
  const std::string workloads = std::string(MALLOCMUZERO_SOURCE_DIR) + "/" + GetParam();
  const std::string readme = workloads + "/README.md";
  if (!std::filesystem::exists(readme)) GTEST_SKIP() << "no programs are committed";
  const RunResult table = RunMallocmuzero({"corpus", "--workloads", workloads});
  ASSERT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(ReadAll(readme).find(table.out) != std::string::npos)
      << "run: build/bin/mallocmuzero corpus --workloads " << GetParam() << " --write "
      << GetParam() << "/README.md";
}

INSTANTIATE_TEST_SUITE_P(All, CommittedCorpus,
                         ::testing::Values("workloads", "workloads_third_party"),
                         [](const auto& folder) { return std::string(folder.param); });

}  // namespace
}  // namespace mallocmuzero::e2e
