// For all kinds of invalid input: exit code 2, nothing on stdout, one line on stderr that names
// what is wrong.

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using ::testing::HasSubstr;

using Arguments = std::vector<std::string>;

std::string GoodHlo() { return TestData("hlo/gpt_small/all_hbm.hlo.zst"); }

Arguments SimulateHlo(const std::string& path) {
  return {"simulate", "--hlo", path, "--hardware", "tpu_v4i"};
}

// Imports gpt_small into `folder` and returns the path of the program.
std::string GoodProgram(const TemporaryFolder& folder) {
  std::string path = folder.Path("good.program");
  EXPECT_EQ(RunMallocmuzero(ImportArguments("gpt_small", path)).exit_code, 0);
  return path;
}

struct BadInput {
  std::string name;
  // Makes the arguments, and the files that they need, in the folder.
  std::function<Arguments(const TemporaryFolder&)> arguments;
  // Extended regular expression that the error line must match.
  std::string pattern;
};

void PrintTo(const BadInput& input, std::ostream* out) { *out << input.name; }

class BadInputTest : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputTest, ExitsWithTwoAndOneLineThatNamesIt) {
  const TemporaryFolder folder;
  ExpectOneErrorLine(RunMallocmuzero(GetParam().arguments(folder)), GetParam().pattern);
}

std::vector<BadInput> BadUsage() {
  return {
      {"NoSubcommand", [](const auto&) { return Arguments{}; }, "subcommand"},
      {"UnknownSubcommand", [](const auto&) { return Arguments{"fly"}; }, "there is no .fly."},
      {"UnknownBench",
       [](const auto&) {
         return Arguments{"bench", "fly"};
       },
       "there is no .fly."},
      {"NoBench", [](const auto&) { return Arguments{"bench"}; }, "subcommand is required"},
      {"UnknownFlag",
       [](const auto&) {
         return Arguments{"simulate", "--fast"};
       },
       "--fast"},
      {"MistypedFlag",
       [](const auto&) {
         return Arguments{"map", "--program", "x.program", "--ouput", "x.mapping"};
       },
       ".--ouput. was not expected .mallocmuzero map --help"},
      {"FlagTwice",
       [](const auto&) {
         return Arguments{"simulate", "--program", "x", "--limit", "3", "--limit", "4"};
       },
       "--limit: expected once, found 2 times"},
      {"MissingRequiredFlag",
       [](const auto&) {
         return Arguments{"import", "--all-hbm", GoodHlo()};
       },
       "--hardware|--output"},
      {"FlagWithoutValue",
       [](const auto&) {
         return Arguments{"validate", "--mapping", "all_hbm", "--program"};
       },
       "--program: expected FILE, found none"},
      {"SimulateNothing", [](const auto&) { return Arguments{"simulate"}; }, "--hlo and --program"},
      {"HloWithoutHardware",
       [](const auto&) {
         return Arguments{"simulate", "--hlo", GoodHlo()};
       },
       "--hardware"},
      {"SeedBelowZero",
       [](const auto&) {
         return Arguments{"bench", "game", "--program", "x", "--games", "1", "--seed", "-1"};
       },
       "--seed: expected a whole number from 0 to 18446744073709551615, found .-1"},
      {"SeedOfTooManyDigits",
       [](const auto&) {
         return Arguments{"map",      "--program", "x", "--seed", "99999999999999999999999",
                          "--output", "y"};
       },
       "--seed: expected a whole number from 0 to 18446744073709551615"},
      {"NoGames",
       [](const auto&) { return Arguments{"bench", "game", "--program", "x", "--games", "0"}; },
       "--games: expected a whole number from 1 to 18446744073709551615, found .0"},
      {"NoFastMemory",
       [](const auto&) {
         return Arguments{"variant", "--program", "x", "--fast-memory", "0", "--output", "y"};
       },
       "--fast-memory: expected a number above 0, found .0"},
      {"HloAndProgram",
       [](const auto&) {
         Arguments both = SimulateHlo(GoodHlo());
         both.insert(both.end(), {"--program", "x.program"});
         return both;
       },
       "--program"},
      {"UnknownHardware",
       [](const auto&) {
         return Arguments{"simulate", "--hlo", GoodHlo(), "--hardware", "tpu_v99"};
       },
       "tpu_v99.*tpu_v4i"},
  };
}

std::vector<BadInput> BadHlo() {
  return {
      {"MissingHlo", [](const auto& f) { return SimulateHlo(f.Path("missing.hlo")); },
       "missing\\.hlo"},
      {"FolderAsHlo", [](const auto& f) { return SimulateHlo(f.Path("")); }, "mallocmuzero-"},
      {"EmptyHlo", [](const auto& f) { return SimulateHlo(f.Write("empty.hlo", "")); },
       "empty\\.hlo"},
      {"BinaryHlo",
       [](const auto& f) { return SimulateHlo(f.Write("binary.hlo", std::string(100, '\0'))); },
       "binary\\.hlo"},
      {"TruncatedZst",
       [](const auto& f) {
         const std::string bytes = ReadAll(GoodHlo());
         return SimulateHlo(f.Write("cut.hlo.zst", bytes.substr(0, bytes.size() / 2)));
       },
       "cut\\.hlo\\.zst"},
      {"SyntaxErrorInHlo",
       [](const auto& f) {
         return SimulateHlo(f.Write("bad.hlo",
                                    "HloModule m, is_scheduled=true\n\n"
                                    "ENTRY %main (p: f32[8]) -> f32[8] {\n"
                                    "  ROOT %p = f32[8{0} parameter(0)\n"
                                    "}\n"));
       },
       "bad\\.hlo:4:[0-9]+: "},
      {"NameOfManyBytes",
       [](const auto& f) {
         return SimulateHlo(
             f.Write("long.hlo", "HloModule m, is_scheduled=true\n\nENTRY %main {\n  ROOT %" +
                                     std::string(100'000, 'x') +
                                     " = f32[1099511627776,1024] parameter(0)\n}\n"));
       },
       "long\\.hlo:4:1: %x+\\.\\.x+: expected arrays of at most 2\\^50 bytes"},
      {"SyntaxErrorInASample",
       [](const auto& f) {
         Arguments arguments = ImportArguments("gpt_small", f.Path("out.program"));
         arguments.insert(arguments.end(), {"--sample", f.Write("broken.hlo", "HloModule\n")});
         return arguments;
       },
       "broken\\.hlo:[0-9]+:[0-9]+: "},
      {"MissingDefault",
       [](const auto& f) {
         return Arguments{"import",    "--all-hbm",        GoodHlo(),
                          "--default", f.Path("none.hlo"), "--hardware",
                          "tpu_v4i",   "--output",         f.Path("out.program")};
       },
       "none\\.hlo"},
  };
}

std::vector<BadInput> BadMessages() {
  const auto simulate = [](const std::string& program) {
    return Arguments{"simulate", "--program", program};
  };
  const auto validate = [](const TemporaryFolder& folder, const std::string& mapping) {
    return Arguments{"validate", "--program", GoodProgram(folder), "--mapping", mapping};
  };
  return {
      {"MissingProgram", [=](const auto& f) { return simulate(f.Path("missing.program")); },
       "missing\\.program"},
      {"EmptyProgram", [=](const auto& f) { return simulate(f.Write("empty.program", "")); },
       "empty\\.program"},
      {"GarbageAsProgram",
       [=](const auto& f) { return simulate(f.Write("noise.program", "\xff\xfe noise")); },
       "noise\\.program"},
      {"TruncatedProgram",
       [=](const auto& f) {
         const std::string bytes = ReadAll(GoodProgram(f));
         return simulate(f.Write("cut.program", bytes.substr(0, bytes.size() / 2)));
       },
       "cut\\.program"},
      {"MappingAsProgram",
       [=](const auto& f) {
         return simulate(f.Write("m.textproto",
                                 "header { message: \"mallocmuzero.v1.Mapping\" version: 1 }\n"));
       },
       "m\\.textproto.*mallocmuzero\\.v1\\.Mapping"},
      {"ProgramOfAnotherVersion",
       [=](const auto& f) {
         return simulate(f.Write("new.textproto",
                                 "header { message: \"mallocmuzero.v1.Program\" version: 99 }\n"));
       },
       "new\\.textproto.*version.*99"},
      {"TextErrorInMapping",
       [=](const auto& f) { return validate(f, f.Write("typo.textproto", "header {\n  mess")); },
       "typo\\.textproto"},
      {"MissingMapping", [=](const auto& f) { return validate(f, f.Path("none.mapping")); },
       "none\\.mapping: .*; a mapping file, all_hbm or default expected"},
      {"MappingOfAnotherProgram",
       [=](const auto& f) {
         return validate(f, f.Write("other.textproto",
                                    "header { message: \"mallocmuzero.v1.Mapping\" version: 1 }\n"
                                    "program_sha256: \"" +
                                        std::string(32, 'a') + "\"\n"));
       },
       "other\\.textproto.*program"},
      {"HardwareFileWithoutRates",
       [](const auto& f) {
         return Arguments{"simulate", "--hlo", GoodHlo(), "--hardware",
                          f.Write("chip.textproto",
                                  "header { message: \"mallocmuzero.v1.Hardware\" version: 1 }\n"
                                  "name: \"chip\"\n")};
       },
       "chip\\.textproto.*"},
      {"SplitWithoutNames",
       [](const auto& f) {
         f.Write("split.csv", "program,family,split\n");
         return Arguments{"corpus", "--workloads", f.Path("")};
       },
       "split\\.csv:1: no column .name., expected a header with name, family and split"},
      {"EmptySplit",
       [](const auto& f) {
         f.Write("split.csv", "");
         return Arguments{"corpus", "--workloads", f.Path("")};
       },
       "split\\.csv: empty, expected a header with name, family and split"},
      {"WorkloadsWithoutPrograms",
       [](const auto& f) {
         return Arguments{"train", "--workloads", f.Path(""), "--output", f.Path("run")};
       },
       "no \\.program file in it"},
      {"WorkloadsWithoutSplit",
       [](const auto& f) {
         return Arguments{"corpus", "--workloads", f.Path("")};
       },
       "split\\.csv"},
  };
}

std::string NameOf(const ::testing::TestParamInfo<BadInput>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Usage, BadInputTest, ::testing::ValuesIn(BadUsage()), NameOf);
INSTANTIATE_TEST_SUITE_P(Hlo, BadInputTest, ::testing::ValuesIn(BadHlo()), NameOf);
INSTANTIATE_TEST_SUITE_P(Messages, BadInputTest, ::testing::ValuesIn(BadMessages()), NameOf);

TEST(FailedImport, LeavesAnExistingOutputAsItWas) {
  const TemporaryFolder folder;
  const std::string output = folder.Write("p.program", "precious");
  const RunResult result =
      RunMallocmuzero({"import", "--all-hbm", folder.Write("bad.hlo", "HloModule\n"), "--hardware",
                       "tpu_v4i", "--output", output});
  ExpectOneErrorLine(result, "bad\\.hlo:[0-9]+:[0-9]+: ");
  EXPECT_EQ(ReadAll(output), "precious");
}

// Without the handling of SIGPIPE both would end by a signal, and the first one without its result.
TEST(WithoutAReaderOfErrors, WorkIsDoneAndFailuresHaveTheirExitCode) {
  const TemporaryFolder folder;
  const std::string run = folder.Path("run");
  const RunResult train =
      RunWithoutReaderOfErrors({"train", "--program", GoodProgram(folder), "--output", run,
                                "--iterations", "1", "--threads", "1", "--json"});
  EXPECT_EQ(train.exit_code, 0);
  EXPECT_THAT(train.out, HasSubstr("best_mapping"));
  EXPECT_EQ(RunWithoutReaderOfErrors(SimulateHlo(folder.Path("missing.hlo"))).exit_code, 2);
}

TEST(ReadbackOfNamesFromStandardInput, NamesTheLineThatIsEmpty) {
  const TemporaryFolder folder;
  const RunResult result =
      RunMallocmuzero({"readback", "--program", GoodProgram(folder), "--hlo", "-", "--json"},
                      folder.Write("names", GoodHlo() + "\n\n"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--hlo -: standard input:2: expected the name of a file"));
}

TEST(ReadbackOfNamesFromStandardInput, EndsWhereNobodyReadsItsAnswers) {
  const TemporaryFolder folder;
  const std::string names =
      folder.Write("names", GoodHlo() + "\n" + folder.Path("missing.hlo") + "\n");
  const std::string command = absl::StrCat(MallocmuzeroPath(), " readback --program ",
                                           GoodProgram(folder), " --hlo - --json <", names);
  const RunResult result = RunBinary("/bin/sh", {"-c", command + " >/dev/full"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "mallocmuzero: cannot write to standard output\n");
  EXPECT_THAT(RunBinary("/bin/sh", {"-c", command}).err, HasSubstr("missing.hlo"));
  ExpectOneErrorLine(
      RunMallocmuzero({"readback", "--program", GoodProgram(folder), "--hlo", "-", "--json"},
                      folder.Path("")),
      "standard input cannot be read");
}

TEST(FailedImport, WritesNothing) {
  const TemporaryFolder folder;
  const std::string output = folder.Path("p.program");
  ExpectOneErrorLine(RunMallocmuzero({"import", "--all-hbm", folder.Write("bad.hlo", "HloModule\n"),
                                      "--hardware", "tpu_v4i", "--output", output}),
                     "bad\\.hlo:[0-9]+:[0-9]+: ");
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST(FailedImport, NamesAnOutputThatCannotBeWritten) {
  const TemporaryFolder folder;
  const RunResult result =
      RunMallocmuzero(ImportArguments("gpt_small", folder.Path("no/such/folder/p.program")));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("no/such/folder/p.program"));
}

}  // namespace
}  // namespace mallocmuzero::e2e
