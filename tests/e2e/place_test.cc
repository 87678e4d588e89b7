// Writes a mapping into a module, and searches with compiles of such modules, through the binary.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/testing/await.h"
#include "tests/e2e/run_binary.h"

namespace mallocmuzero::e2e {
namespace {

using mallocmuzero::testing::Await;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Arguments = std::vector<std::string>;

constexpr char kFake[] = MALLOCMUZERO_BINARY_DIR "/testing/fake_pjrt_plugin.so";
constexpr char kName[] = "tpu_v6e/graph_attention_3x256_b32x256";

class Placed : public ::testing::Test {
 protected:
  void SetUp() override {
    const RunResult imported =
        RunMallocmuzero({"import", "--all-hbm", all_hbm_, "--default", default_, "--hardware",
                         "tpu_v6e", "--output", program_});
    ASSERT_EQ(imported.exit_code, 0) << imported.err;
    const RunResult mapped = RunMallocmuzero({"map", "--program", program_, "--solver", "greedy",
                                              "--budget", "1s", "--output", mapping_});
    ASSERT_EQ(mapped.exit_code, 0) << mapped.err;
  }

  Arguments Place(const Arguments& more = {}) const {
    Arguments arguments = {"place",    "--program", program_,   "--mapping", mapping_,
                           "--module", all_hbm_,    "--output", placed_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  Arguments Optimize(const std::string& library) const {
    return {"optimize",
            "--all-hbm",
            all_hbm_,
            "--default",
            default_,
            "--chip",
            "tpu_v6e",
            "--libtpu",
            library,
            "--output",
            folder_.Path("found"),
            "--rounds",
            "2",
            "--solve",
            "500ms",
            "--budget",
            "20m",
            "--json"};
  }

  const TemporaryFolder folder_;
  const std::string all_hbm_ = absl::StrCat(MALLOCMUZERO_SOURCE_DIR,
                                            "/tests/data/place/"
                                            "tpu_v6e.graph_attention_3x256_b32x256.pb.zst");
  const std::string default_ =
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/workloads/captures/", kName, "/default.hlo.zst");
  const std::string program_ = folder_.Path("p.program");
  const std::string mapping_ = folder_.Path("m.mapping");
  const std::string placed_ = folder_.Path("placed.pb");
};

TEST_F(Placed, IsWrittenCheckedAndReadBackAsTheMappingHasIt) {
  const RunResult placed = RunMallocmuzero(Place({"--json"}));
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const json report = json::parse(placed.out);
  EXPECT_GT(report["arrays_in_fast_memory"], 0);
  EXPECT_LE(report["live_bytes"], report["packed_bytes"]);
  EXPECT_LE(report["packed_bytes"], report["fast_memory_bytes"]);
  EXPECT_GT(report["mapping_cycles"], 0);

  const RunResult checked = RunMallocmuzero(
      {"check-placed", "--original", all_hbm_, "--placed", placed_, "--hardware", "tpu_v6e"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;

  const RunResult read = RunMallocmuzero(
      {"readback", "--program", program_, "--hlo", placed_, "--mapping", mapping_, "--json"});
  ASSERT_EQ(read.exit_code, 0) << read.err;
  const json readback = json::parse(read.out);
  EXPECT_EQ(readback["followed_share"], 1);
  EXPECT_EQ(readback.value("mismatch_count", 0), 0);
}

// The default's module takes the place of a placed and compiled one, because it has estimates.
TEST_F(Placed, ACompileOfAPlacedModuleIsASampleForTheLatencyTable) {
  const RunResult imported = RunMallocmuzero(
      {"import", "--all-hbm", all_hbm_, "--default", default_, "--placed", default_, "--hardware",
       "tpu_v6e", "--output", folder_.Path("again.program"), "--json"});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  const json report = json::parse(imported.out);
  EXPECT_EQ(report["placements"], 2);
  EXPECT_EQ(report["worst_total_error"], 0);  // each is predicted from the other
}

TEST_F(Placed, EverythingInHbmHasNoCopies) {
  Arguments arguments = Place({"--json"});
  arguments[4] = "all_hbm";
  const RunResult placed = RunMallocmuzero(arguments);
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  const json report = json::parse(placed.out);
  EXPECT_EQ(report.value("copies_in", 0), 0);
  EXPECT_EQ(report.value("packed_bytes", 0.0), 0);
}

TEST_F(Placed, AnotherProgramsModuleIsRefusedInOneLine) {
  Arguments arguments = Place();
  arguments[6] =
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/tests/data/place/tpu_v4i.lstm_2x2048_b64x128.pb.zst");
  const RunResult placed = RunMallocmuzero(arguments);
  EXPECT_EQ(placed.exit_code, 2);
  EXPECT_THAT(placed.err, HasSubstr("expected the all-HBM compile that"));
  EXPECT_EQ(std::count(placed.err.begin(), placed.err.end(), '\n'), 1);
}

TEST_F(Placed, AFileThatIsNoModuleIsRefused) {
  Arguments arguments = Place();
  arguments[6] = mapping_;
  ExpectOneErrorLine(RunMallocmuzero(arguments),
                     "m\\.mapping: expected a serialised HloModuleProto");
  EXPECT_FALSE(std::filesystem::exists(placed_));
}

TEST_F(Placed, OptimizeNeedsTheCompilersEstimates) {
  // the fake compiler returns modules unchanged
  const RunResult result = RunMallocmuzero(Optimize(kFake));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("the compiler gave no estimates"));
}

// Some programs compile by default only.
TEST_F(Placed, OptimizeKeepsTheDefaultOfAProgramThatCannotBePlaced) {
  setenv("FAKE_PJRT", "needs_assignment", 1);
  const RunResult result = RunMallocmuzero({"optimize", "--hlo", all_hbm_, "--chip", "tpu_v6e",
                                            "--libtpu", kFake, "--output", folder_.Path("found"),
                                            "--rounds", "2", "--solve", "100ms", "--json"});
  unsetenv("FAKE_PJRT");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_GT(report["default_cycles"], 0);
  EXPECT_EQ(report["optimized_cycles"], report["default_cycles"]);
  EXPECT_THAT(report["notes"][0].get<std::string>(),
              HasSubstr("nothing can be placed, because with everything in HBM"));
  EXPECT_THAT(report["notes"][0].get<std::string>(), HasSubstr("Unimplemented DMA"));
  EXPECT_EQ(report["rounds"].size(), 0);
  EXPECT_GT(report["scoped_limits"].size(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("found/executable.bin")));
}

TEST_F(Placed, OptimizeKeepsItsResultIfItIsStoppedWhileTheCompilerStarts) {
  const std::string starts = folder_.Write("starts", "");
  setenv("FAKE_PJRT", "needs_assignment", 1);
  setenv("FAKE_PJRT_STARTS", starts.c_str(), 1);
  RunningMallocmuzero optimize({"optimize", "--hlo", all_hbm_, "--chip", "tpu_v6e", "--libtpu",
                                kFake, "--output", folder_.Path("found"), "--json"});
  unsetenv("FAKE_PJRT_STARTS");
  unsetenv("FAKE_PJRT");
  // The first two compiles are done, and the compiler starts for another limit of scoped memory.
  ASSERT_TRUE(Await([&] { return ReadAll(starts).size() > 2; }));
  optimize.Signal(SIGTERM);
  const RunResult result = optimize.Wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["interrupted"], true);
  EXPECT_GT(report["default_cycles"], 0);
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("found/executable.bin")));
}

// The files in the folder may be another program's.
TEST_F(Placed, OptimizeLeavesNoResultOfAnEarlierSearch) {
  std::filesystem::create_directory(folder_.Path("found"));
  folder_.Write("found/module.pb", "earlier");
  folder_.Write("found/executable.bin", "earlier");
  Arguments arguments = Optimize(kFake);
  std::replace(arguments.begin(), arguments.end(), std::string("20m"), std::string("1ms"));
  const RunResult result = RunMallocmuzero(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("found/module.pb")));
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("found/executable.bin")));
}

// The folder stands for a disk that is full after the first file.
TEST_F(Placed, OptimizeKeepsTheEarlierResultIfItCannotWriteBothFiles) {
  std::filesystem::create_directories(folder_.Path("found/executable.bin/folder"));
  folder_.Write("found/module.pb", "earlier");
  setenv("FAKE_PJRT", "needs_assignment", 1);
  const RunResult result =
      RunMallocmuzero({"optimize", "--hlo", all_hbm_, "--chip", "tpu_v6e", "--libtpu", kFake,
                       "--output", folder_.Path("found"), "--rounds", "2", "--solve", "100ms"});
  unsetenv("FAKE_PJRT");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("found/executable.bin: cannot replace"));
  EXPECT_EQ(ReadAll(folder_.Path("found/module.pb")), "earlier");
}

TEST_F(Placed, OptimizeSaysThatNothingWasCompiledAndNoDefaultGiven) {
  const RunResult result =
      RunMallocmuzero({"optimize", "--all-hbm", all_hbm_, "--chip", "tpu_v6e", "--libtpu", kFake,
                       "--output", folder_.Path("found"), "--budget", "1ms"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("by default +not given"));
  EXPECT_THAT(result.out, ContainsRegex("best +nothing: no module was compiled"));
}

TEST_F(Placed, OptimizeNeedsAFolderThatItCanWriteTo) {
  std::filesystem::create_directories(folder_.Path("found/module.pb"));
  const RunResult result = RunMallocmuzero(Optimize(kFake));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("found/module.pb: cannot write: a folder; a file expected"));
}

TEST_F(Placed, OptimizeWantsAProgramOnceOnly) {
  Arguments arguments = Optimize(kFake);
  arguments.insert(arguments.end(), {"--hlo", all_hbm_});
  const RunResult result = RunMallocmuzero(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith("mallocmuzero: --hlo: expected either"));
}

// The first round would write over the module that it learns from.
TEST_F(Placed, OptimizeGoesOnFromAModuleInAnotherFolderOnly) {
  std::filesystem::create_directory(folder_.Path("found"));
  std::filesystem::copy_file(all_hbm_, folder_.Path("found/placed_1.pb"));
  Arguments arguments = Optimize(kFake);
  arguments.insert(arguments.end(), {"--placed", folder_.Path("found/../found/placed_1.pb")});
  const RunResult result = RunMallocmuzero(arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("found/placed_1.pb: would be written over "));
}

TEST_F(Placed, OptimizeNamesALibraryThatIsNone) {
  const RunResult result = RunMallocmuzero(Optimize(program_));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr(program_));
}

// Needs the real compiler: set MALLOCMUZERO_LIBTPU to a libtpu.so.
TEST_F(Placed, OptimizeKeepsEveryAccessWhereTheMappingHasIt) {
  const char* const library = std::getenv("MALLOCMUZERO_LIBTPU");
  if (library == nullptr) GTEST_SKIP() << "MALLOCMUZERO_LIBTPU names no libtpu.so";
  const RunResult result = RunMallocmuzero(Optimize(library));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_LE(report["optimized_cycles"], report["default_cycles"]);
  const auto is_search = [](const json& round) { return !round.value("is_sample", false); };
  EXPECT_EQ(std::count_if(report["rounds"].begin(), report["rounds"].end(), is_search), 2);
  EXPECT_GT(report["rounds"].size(), 2);
  for (const json& round : report["rounds"]) {
    EXPECT_EQ(round.value("accesses_elsewhere", 0), 0);
    EXPECT_GT(round.value("compiled_cycles", 0.0), 0);
  }
}

// The folder in the place of the second module makes its round fail. Without a default, the first
// module is the best.
TEST_F(Placed, OptimizeKeepsWhatItHasFoundBeforeAnError) {
  const char* const library = std::getenv("MALLOCMUZERO_LIBTPU");
  if (library == nullptr) GTEST_SKIP() << "MALLOCMUZERO_LIBTPU names no libtpu.so";
  std::filesystem::create_directories(folder_.Path("found/placed_2.pb"));
  Arguments arguments = Optimize(library);
  const auto by_default = std::find(arguments.begin(), arguments.end(), "--default");
  arguments.erase(by_default, by_default + 2);
  arguments.insert(arguments.end(), {"--compile-time", "10m"});
  const RunResult result = RunMallocmuzero(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["best_round"], 1);
  EXPECT_THAT(report["notes"][0].get<std::string>(), HasSubstr("the search ended early: "));
  EXPECT_TRUE(std::filesystem::exists(folder_.Path("found/executable.bin")));
}

TEST_F(Placed, OptimizeCompilesNoSamplesForWhichThereIsNoTime) {
  const char* const library = std::getenv("MALLOCMUZERO_LIBTPU");
  if (library == nullptr) GTEST_SKIP() << "MALLOCMUZERO_LIBTPU names no libtpu.so";
  Arguments arguments = Optimize(library);
  arguments.insert(arguments.end(), {"--compile-time", "10m"});
  const RunResult result = RunMallocmuzero(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  ASSERT_EQ(report["rounds"].size(), 2);
  for (const json& round : report["rounds"]) EXPECT_FALSE(round.value("is_sample", false));
}

}  // namespace
}  // namespace mallocmuzero::e2e
