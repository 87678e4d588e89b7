// For all kinds of errors in a search or in the mapping that it uses: exit code 2 and one line on
// stderr, at once. Also tests chips that are so small that nothing fits.

#include <filesystem>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Arguments = std::vector<std::string>;

class MapBadInput : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_small", program_)).exit_code, 0);
  }

  // A search that would take ten minutes if it began.
  RunResult Map(const std::string& program, const Arguments& more = {}) const {
    Arguments arguments = {"map", "--program", program, "--output", mapping_, "--budget", "10m"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMallocmuzero(arguments);
  }

  // The commands that use a mapping of a program.
  std::vector<Arguments> UsersOf(const std::string& program, const std::string& mapping) const {
    std::vector<Arguments> users = {{"validate"},
                                    {"simulate"},
                                    {"explain"},
                                    {"plot", "--output", folder_.Path("out")},
                                    {"overrides", "--output", folder_.Path("out")}};
    for (Arguments& user : users) {
      user.insert(user.end(), {"--program", program, "--mapping", mapping});
    }
    return users;
  }

  // A chip with other sizes, given in bytes.
  std::string Chip(const std::string& fast_memory, const std::string& alignment) const {
    return folder_.Write("chip.textproto",
                         "header { message: \"mallocmuzero.v1.Hardware\" version: 1 }\n"
                         "name: \"tiny\" fast_memory_space: 3 fast_memory_bytes: " +
                             fast_memory + " fast_memory_alignment_bytes: " + alignment +
                             " hbm_bytes_per_cycle: 500 fast_memory_read_bytes_per_cycle: 5000"
                             " fast_memory_write_bytes_per_cycle: 5000 flops_per_cycle: 100000"
                             " clock_hz: 1000000000\n");
  }

  static Arguments ImportFor(const std::string& chip, const std::string& output) {
    return {"import",   "--all-hbm", TestData("hlo/gpt_small/all_hbm.hlo.zst"), "--hardware", chip,
            "--output", output};
  }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path("p.program");
  const std::string mapping_ = folder_.Path("m.mapping");
};

TEST_F(MapBadInput, NothingIsWrittenOverAFileThatIsRead) {
  const std::string before = ReadAll(program_);
  const std::string link = folder_.Path("link.program");
  std::filesystem::create_symlink(program_, link);
  const std::vector<Arguments> commands = {
      {"map", "--program", program_, "--output", link, "--budget", "10m"},
      {"map", "--program", program_, "--output", mapping_, "--plot", program_, "--budget", "10m"},
      {"variant", "--program", program_, "--fast-memory", "0.5", "--output", program_},
      {"overrides", "--program", program_, "--mapping", "default", "--output", program_},
      {"plot", "--program", program_, "--output", program_},
      {"import", "--all-hbm", program_, "--hardware", "tpu_v4i", "--output", link}};
  for (const Arguments& command : commands) {
    ExpectOneErrorLine(RunMallocmuzero(command),
                       "would be written over .*p\\.program, which is read");
    EXPECT_EQ(ReadAll(program_), before) << command[0];
  }
}

TEST_F(MapBadInput, TheSecurityOfAServerIsNotWrittenOver) {
  const std::string security = folder_.Write("sec.textproto", "token_file: \"token\"");
  const Arguments outputs[] = {{"--output", security}, {"--output", mapping_, "--plot", security}};
  for (const Arguments& output : outputs) {
    Arguments arguments = {"map",   "--program", program_,      "--budget",
                           "1s",    "--server",  "127.0.0.1:1", "--server-security",
                           security};
    arguments.insert(arguments.end(), output.begin(), output.end());
    ExpectOneErrorLine(RunMallocmuzero(arguments),
                       "sec\\.textproto: would be written over .*, which is read");
  }
}

TEST_F(MapBadInput, AMissingFolderIsNamedBeforeTheWork) {
  const std::string nowhere = folder_.Path("no/where");
  const std::vector<Arguments> commands = {
      {"map", "--program", program_, "--budget", "10m", "--output", nowhere},
      {"play", "--program", program_, "--output", nowhere},
      {"compile", "--hlo", TestData("hlo/gpt_small/all_hbm.hlo.zst"), "--chip", "tpu_v4i",
       "--executable", nowhere},
      {"import", "--all-hbm", TestData("hlo/gpt_small/all_hbm.hlo.zst"), "--hardware", "tpu_v4i",
       "--output", nowhere},
      {"plot", "--program", program_, "--output", nowhere},
      {"variant", "--program", program_, "--fast-memory", "0.5", "--output", nowhere},
      {"overrides", "--program", program_, "--mapping", "all_hbm", "--output", nowhere}};
  for (const Arguments& command : commands) {
    const RunResult result = RunMallocmuzero(command);
    EXPECT_EQ(result.exit_code, 2) << command[0];
    EXPECT_EQ(result.out, "") << command[0];
    EXPECT_THAT(result.err, HasSubstr("no/where: cannot write: no folder")) << command[0];
  }
}

TEST_F(MapBadInput, AFolderThatCannotBeWrittenIsNamedBeforeTheWork) {
  ExpectOneErrorLine(
      RunMallocmuzero({"map", "--program", program_, "--budget", "10m", "--output", "/proc/none"}),
      "/proc/none: cannot create: ");
}

TEST_F(MapBadInput, AChipWithoutFastMemoryIsRefused) {
  ExpectOneErrorLine(RunMallocmuzero(ImportFor(Chip("0", "1"), folder_.Path("none.program"))),
                     "chip\\.textproto: fast_memory_bytes: .*found 0");
}

TEST_F(MapBadInput, WhereNothingFitsEverythingStaysInHbm) {
  const std::string program = folder_.Path("tiny.program");
  ASSERT_EQ(RunMallocmuzero(ImportFor(Chip("2", "2"), program)).exit_code, 0);
  for (const char* solver : {"portfolio", "greedy", "xla_like", "local_search", "exhaustive"}) {
    const RunResult result = Map(program, {"--solver", solver, "--json"});
    ASSERT_EQ(result.exit_code, 0) << solver << result.err;
    const json report = json::parse(result.out);
    EXPECT_EQ(report["total_cycles"], report["all_hbm_cycles"]) << solver;
    EXPECT_EQ(RunMallocmuzero({"validate", "--program", program, "--mapping", mapping_}).exit_code,
              0);
  }
  for (const Arguments& user : UsersOf(program, mapping_)) {
    if (user[0] == "explain" || user[0] == "overrides") continue;  // there is no default
    const RunResult result = RunMallocmuzero(user);
    EXPECT_EQ(result.exit_code, 0) << user[0] << ": " << result.err;
  }
}

TEST_F(MapBadInput, ProgramsThatCannotBeReadAreNamed) {
  const std::string whole = ReadAll(program_);
  const std::string cut = folder_.Write("cut.program", whole.substr(0, whole.size() / 2));
  ExpectOneErrorLine(Map(cut), "cut\\.program: ");
  ExpectOneErrorLine(Map(folder_.Path("none.program")), "none\\.program: ");
  ExpectOneErrorLine(Map(TestData("hlo/gpt_small/all_hbm.hlo.zst")), "all_hbm\\.hlo\\.zst: ");
  for (const Arguments& user : UsersOf(cut, "all_hbm")) {
    ExpectOneErrorLine(RunMallocmuzero(user), "cut\\.program: ");
  }
}

TEST_F(MapBadInput, MappingsThatCannotBeUsedAreNamed) {
  const std::string other = folder_.Path("other.program");
  ASSERT_EQ(RunMallocmuzero(ImportArguments("gpt_b16", other)).exit_code, 0);
  ASSERT_EQ(Map(program_, {"--solver", "greedy"}).exit_code, 0);
  for (const Arguments& user : UsersOf(other, mapping_)) {
    ExpectOneErrorLine(RunMallocmuzero(user), "m\\.mapping: program_sha256: .*another program");
  }
  const std::string whole = ReadAll(mapping_);
  const std::string cut = folder_.Write("cut.mapping", whole.substr(0, whole.size() / 2));
  for (const Arguments& user : UsersOf(program_, cut)) {
    ExpectOneErrorLine(RunMallocmuzero(user), "cut\\.mapping: ");
  }
}

TEST_F(MapBadInput, FlagsThatMakeNoSenseAreNamed) {
  for (const char* budget : {"0", "0s", "-5m", "60", "1e999s", "inf", "soon"}) {
    ExpectOneErrorLine(RunMallocmuzero({"map", "--program", program_, "--output", mapping_,
                                        std::string("--budget=") + budget}),
                       "--budget: .*above zero");
  }
  ExpectOneErrorLine(Map(program_, {"--seed", "-1"}), "--seed");
  ExpectOneErrorLine(Map(program_, {"--threads", "0"}), "--threads");
  ExpectOneErrorLine(Map(program_, {"--solver", "local_search", "--checkpoint", program_}),
                     "--checkpoint: --solver local_search plays no networks");
  ExpectOneErrorLine(Map(program_, {"--plot", mapping_}), "--plot: .*m\\.mapping: another file");
  ExpectOneErrorLine(Map(program_, {"--plot", folder_.Path("./m.mapping")}), "--plot: ");
  ExpectOneErrorLine(RunMallocmuzero({"map", "--program", program_, "--output", "no_such.mapping",
                                      "--plot", "./no_such.mapping", "--budget", "10m"}),
                     "--plot: ");
  ExpectOneErrorLine(Map(program_, {"--solver", "magic"}),
                     "--solver: .*local_search.*agent.*, found .magic");
}

TEST_F(MapBadInput, WhatWouldWasteTheSearchIsSaidBeforeIt) {
  const std::string bare = folder_.Path("bare.program");
  ASSERT_EQ(RunMallocmuzero(ImportFor("tpu_v4i", bare)).exit_code, 0);
  ExpectOneErrorLine(Map(bare, {"--explain"}), "--explain: .*bare\\.program has no default");
  const RunResult plot = Map(bare, {"--plot", folder_.Path("no/where.svg")});
  EXPECT_EQ(plot.exit_code, 2);
  EXPECT_THAT(plot.err, HasSubstr("no/where.svg: cannot write: no folder"));
  EXPECT_FALSE(std::filesystem::exists(mapping_));
  const RunResult folder =
      RunMallocmuzero({"map", "--program", bare, "--output", folder_.Path(""), "--budget", "10m"});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.err, HasSubstr("cannot write: a folder; a file expected"));
}

TEST(BadUsage, NamesTheHelpOfTheCommandAtHand) {
  ExpectOneErrorLine(RunMallocmuzero({"map", "--absent"}),
                     "\\(mallocmuzero map --help shows the usage\\)");
  ExpectOneErrorLine(RunMallocmuzero({"bench", "replay", "--absent"}),
                     "\\(mallocmuzero bench replay --help shows the usage\\)");
  ExpectOneErrorLine(RunMallocmuzero({"absent"}), "\\(mallocmuzero --help shows the usage\\)");
}

}  // namespace
}  // namespace mallocmuzero::e2e
