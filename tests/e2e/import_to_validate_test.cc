// Takes real programs through the binary: import, simulate, validate.

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/message_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Imports one of tests/data/hlo, once for each test.
class RealProgram : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { report_ = RunForJson(ImportArguments(GetParam(), program_)); }

  const TemporaryFolder folder_;
  const std::string program_ = folder_.Path(GetParam() + ".program");
  json report_;
};

TEST_P(RealProgram, ImportsWithACalibrationThatCanBeTrusted) {
  EXPECT_EQ(report_["program"], GetParam());
  EXPECT_EQ(report_["hardware"], "tpu_v4i");
  EXPECT_GT(report_["instructions"], 30);
  EXPECT_GT(report_["accesses"], report_["instructions"]);
  EXPECT_GE(report_["placements"], 4);
  // gpt_scan has three sampled placements, the others have five or more.
  EXPECT_LE(report_["median_total_error"], report_["placements"] >= 6 ? 0.01 : 0.02);
  EXPECT_LE(report_["worst_total_error"], 0.03);
  EXPECT_LE(report_["instruction_error"], 0.03);
  EXPECT_LT(report_["all_fast_cycles"], report_["all_hbm_cycles"]);
  EXPECT_LT(report_["default_cycles"], report_["all_hbm_cycles"]);
}

TEST(Import, NotesAnAllHbmCompileThatUsesFastMemory) {
  const TemporaryFolder folder;
  const json report = RunForJson({"import", "--all-hbm", TestData("hlo/gpt_b16/default.hlo.zst"),
                                  "--default", TestData("hlo/gpt_b16/all_hbm.hlo.zst"),
                                  "--hardware", "tpu_v4i", "--output", folder.Path("p.program")});
  EXPECT_THAT(report["notes"].dump(),
              HasSubstr("arrays in fast memory; was another compile given"));
}

TEST(Import, NotesACompileForAnotherChip) {
  const TemporaryFolder folder;
  const json report = RunForJson({"import", "--all-hbm", TestData("hlo/gpt_b16/all_hbm.hlo.zst"),
                                  "--default", TestData("hlo/gpt_b16/default.hlo.zst"),
                                  "--hardware", "tpu_v6e", "--output", folder.Path("p.program")});
  EXPECT_THAT(report["notes"].dump(),
              HasSubstr(" arrays are in memory space 3, the fast memory of "
                        "tpu_v4, tpu_v4i; that of tpu_v6e is 1; was the module"));
}

TEST_P(RealProgram, PricesEverythingInHbmUnlessAMappingIsGiven) {
  const json price = RunForJson({"simulate", "--program", program_});
  EXPECT_EQ(price["total_cycles"], report_["all_hbm_cycles"]);
  EXPECT_EQ(price["all_hbm_cycles"], report_["all_hbm_cycles"]);
  EXPECT_EQ(price["default_cycles"], report_["default_cycles"]);
  EXPECT_EQ(price["hbm_share"], 1.0);
  EXPECT_EQ(price["copies"], 0);
  EXPECT_DOUBLE_EQ(price["total_cycles"].get<double>(), price["estimated_cycles"].get<double>() +
                                                            price["modelled_cycles"].get<double>() +
                                                            price["stall_cycles"].get<double>());
}

// For a program and for a module; the table shows what the JSON has.
TEST_P(RealProgram, ListsTheInstructionsThatTakeMostCycles) {
  const std::string module = TestData("hlo/" + GetParam() + "/default.hlo.zst");
  const std::vector<std::vector<std::string>> commands = {
      {"simulate", "--program", program_, "--mapping", "default", "--limit"},
      {"simulate", "--hlo", module, "--hardware", "tpu_v4i", "--limit"}};
  for (std::vector<std::string> command : commands) {
    command.push_back("1000000");
    const json report = RunForJson(command);
    double cycles = 0;
    double bytes = 0;
    for (const json& instruction : report["costliest"]) {
      cycles += instruction["cycles"].get<double>();
      bytes += instruction["bytes_accessed"].get<double>();
    }
    EXPECT_EQ(report["costliest"].size(), report["instructions"]);
    EXPECT_NEAR(cycles,
                report["estimated_cycles"].get<double>() + report["modelled_cycles"].get<double>(),
                1e-9 * cycles);
    EXPECT_NEAR(bytes, report["bytes_accessed"].get<double>(), 1e-9 * bytes);
    command.back() = "1";
    const std::string text = RunMallocmuzero(command).out;
    EXPECT_THAT(text, HasSubstr("The 1 instruction that takes most cycles"));
    EXPECT_THAT(text, HasSubstr("\n" + report["costliest"][0]["name"].get<std::string>() + "  "));
  }
}

TEST_P(RealProgram, PricesTheDefaultAsItsCompiledModuleOrNamesTheDifference) {
  const json mapped = RunForJson({"simulate", "--program", program_, "--mapping", "default"});
  const json compiled =
      RunForJson({"simulate", "--hlo", TestData("hlo/" + GetParam() + "/default.hlo.zst"),
                  "--hardware", "tpu_v4i"});
  EXPECT_DOUBLE_EQ(report_["default_mapped_cycles"], mapped["total_cycles"]);
  // The compiler turned some synchronous copies of decode_b1 into asynchronous ones.
  if (GetParam() != "decode_b1") {
    EXPECT_EQ(mapped["copies"], compiled["copies"]);
  }
  const double difference =
      mapped["total_cycles"].get<double>() - compiled["total_cycles"].get<double>();
  if (std::abs(difference) > 0.001 * compiled["total_cycles"].get<double>()) {
    EXPECT_THAT(report_["notes"].dump(), HasSubstr("default"));
  }
  EXPECT_FALSE(compiled.contains("all_hbm_cycles"));
}

TEST_P(RealProgram, FindsTheDefaultValidIfItHasAddresses) {
  if (!report_["default_packed"]) GTEST_SKIP() << "the default's intervals cannot be packed";
  const json verdict = RunForJson({"validate", "--program", program_, "--mapping", "default"});
  EXPECT_TRUE(verdict["valid"]) << verdict.dump(1);
  EXPECT_THAT(verdict["violations"], IsEmpty());
}

TEST_P(RealProgram, ReadsAMappingFileInBothFormats) {
  const auto program = LoadProgram(program_);
  ASSERT_TRUE(program.ok()) << program.status();
  for (const char* name : {"m.mapping", "m.mapping.zst", "m.textproto"}) {
    const std::string path = folder_.Path(name);
    ASSERT_TRUE(WriteMessage(path, MappingToProto(AllHbmMapping(*program), *program)).ok());
    const json price = RunForJson({"simulate", "--program", program_, "--mapping", path});
    EXPECT_EQ(price["total_cycles"], report_["all_hbm_cycles"]) << name;
    EXPECT_TRUE(RunForJson({"validate", "--program", program_, "--mapping", path})["valid"]);
  }
}

TEST_P(RealProgram, ExitsWithOneAndListsTheRuleAnInvalidMappingBreaks) {
  const auto program = LoadProgram(program_);
  ASSERT_TRUE(program.ok()) << program.status();
  Mapping mapping = AllHbmMapping(*program);
  mapping.in_fast_memory.back() = 1;  // but no interval contains it
  const std::string path = folder_.Path("broken.mapping");
  ASSERT_TRUE(WriteMessage(path, MappingToProto(mapping, *program)).ok());

  const std::vector<std::string> command = {"validate", "--program", program_, "--mapping", path};
  const RunResult text = RunMallocmuzero(command);
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, HasSubstr("no_interval"));
  EXPECT_THAT(text.err, IsEmpty());

  std::vector<std::string> json_command = command;
  json_command.push_back("--json");
  const RunResult machine = RunMallocmuzero(json_command);
  EXPECT_EQ(machine.exit_code, 1);
  const json verdict = json::parse(machine.out);
  EXPECT_FALSE(verdict["valid"]);
  EXPECT_EQ(verdict["violations"][0]["rule"], "no_interval");
}

TEST_P(RealProgram, ImportsToTheSameBytesEachTime) {
  const std::string again = folder_.Path("again/" + GetParam() + ".program");
  std::filesystem::create_directory(folder_.Path("again"));
  ASSERT_EQ(RunMallocmuzero(ImportArguments(GetParam(), again)).exit_code, 0);
  EXPECT_EQ(ReadAll(program_), ReadAll(again));
}

INSTANTIATE_TEST_SUITE_P(Samples, RealProgram,
                         ::testing::Values("decode_b1", "dlrm", "gpt_b16", "gpt_scan", "gpt_small",
                                           "resnet50_b1"),
                         [](const auto& info) { return info.param; });

TEST(HumanOutput, ShowsCalibrationAndTheCostliestInstructions) {
  const TemporaryFolder folder;
  const std::string program = folder.Path("gpt_b16.program");
  const RunResult imported = RunMallocmuzero(ImportArguments("gpt_b16", program));
  EXPECT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_THAT(imported.err, IsEmpty());
  EXPECT_THAT(imported.out, HasSubstr("gpt_b16 for tpu_v4i"));
  EXPECT_THAT(imported.out, HasSubstr("error of the total: median "));
  EXPECT_THAT(imported.out, HasSubstr("cycle-weighted error per instruction: "));

  const RunResult simulated = RunMallocmuzero({"simulate", "--program", program});
  EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_THAT(simulated.out, HasSubstr(" Mcycles"));
  EXPECT_THAT(simulated.out, HasSubstr("The 10 instructions that take most cycles"));

  const RunResult validated =
      RunMallocmuzero({"validate", "--program", program, "--mapping", "all_hbm"});
  EXPECT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_THAT(validated.out, HasSubstr("valid: "));
}

TEST(Import, NamesAProgramByItsFileUpToTheSuffix) {
  const TemporaryFolder folder;
  for (const char* name : {"gpt3.5_b16.program", "gpt3.5_b16.program.zst"}) {
    const RunResult imported = RunMallocmuzero(ImportArguments("gpt_b16", folder.Path(name)));
    EXPECT_EQ(imported.exit_code, 0) << imported.err;
    EXPECT_THAT(imported.out, HasSubstr("gpt3.5_b16 for tpu_v4i"));
  }
}

TEST(Import, TakesWhatTheCompilerHadForTensors) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("p.program");
  std::vector<std::string> arguments = ImportArguments("gpt_small", path);
  arguments.insert(arguments.end(), {"--fast-memory-bytes", "67108864"});
  ASSERT_EQ(RunMallocmuzero(arguments).exit_code, 0);
  const auto program = LoadProgram(path);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->proto().hardware().fast_memory_bytes(), 64 << 20);
  EXPECT_EQ(program->proto().hardware().name(), "tpu_v4i");
}

TEST(Import, RefusesImpossibleFastMemory) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("p.program");
  for (const char* bytes : {"0", "-1", "7", "1e30"}) {
    std::vector<std::string> arguments = ImportArguments("gpt_small", path);
    arguments.insert(arguments.end(), {"--fast-memory-bytes", bytes});
    const RunResult result = RunMallocmuzero(arguments);
    EXPECT_EQ(result.exit_code, 2) << bytes;
    EXPECT_THAT(result.err, HasSubstr("--fast-memory-bytes")) << bytes;
    EXPECT_FALSE(std::filesystem::exists(path)) << bytes;
  }
}

TEST(HumanOutput, VersionAndHelpGoToStdout) {
  const RunResult version = RunMallocmuzero({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex(
                               "mallocmuzero [0-9.]+ \\(commit ([0-9a-f]{40}|unknown)\\)\n"));
  const RunResult help = RunMallocmuzero({"import", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("--all-hbm"));
  EXPECT_THAT(help.err, IsEmpty());
  EXPECT_EQ(RunMallocmuzero({"help", "import"}).out, help.out);
  EXPECT_EQ(RunMallocmuzero({"help"}).out, RunMallocmuzero({"--help"}).out);
  EXPECT_EQ(RunMallocmuzero({"help", "fly"}).exit_code, 2);
}

}  // namespace
}  // namespace mallocmuzero::e2e
