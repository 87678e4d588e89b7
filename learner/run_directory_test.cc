#include "learner/run_directory.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/best_history.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string NewFolder(const std::string& name) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/run_directory_test_", name);
  std::filesystem::remove_all(path);
  return path;
}

v1::TrainConfig SomeConfig() {
  v1::TrainConfig config;
  *config.mutable_network() = *NetworkPreset("tiny");
  return config;
}

v1::TrainMetrics MetricsOf(uint32_t iteration) {
  v1::TrainMetrics metrics;
  metrics.set_iteration(iteration);
  metrics.set_games(10.0 * iteration);
  metrics.add_programs()->set_name("p");
  return metrics;
}

TEST(RunDirectory, RefusesAFolderWithARunInIt) {
  const std::string path = NewFolder("twice");
  const v1::TrainConfig config = SomeConfig();
  ASSERT_TRUE(RunDirectory::Create(path, config).ok());
  EXPECT_THAT(RunDirectory::Create(path, config).status().message(), HasSubstr("--resume"));
  EXPECT_TRUE(RunDirectory::Open(path).ok());
}

TEST(RunDirectory, OpensOnlyAFolderWithARun) {
  EXPECT_TRUE(absl::IsNotFound(RunDirectory::Open(NewFolder("none")).status()));
}

TEST(RunDirectory, APathThatIsTooLongIsAnError) {
  const std::string path(5000, 'x');
  EXPECT_TRUE(absl::IsNotFound(RunDirectory::Open(path).status()));
  EXPECT_FALSE(RunDirectory::Create(path, SomeConfig()).ok());
}

TEST(RunDirectory, ReadsItsConfigBack) {
  v1::TrainConfig config = SomeConfig();
  config.set_seed(5);
  const auto directory = RunDirectory::Create(NewFolder("config"), config);
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(directory->ReadConfig()->seed(), 5);
  EXPECT_EQ(directory->ReadConfig()->network().latent(), config.network().latent());
}

TEST(RunDirectory, MetricsAreLinesThatSurviveACutOne) {
  const auto directory = RunDirectory::Create(NewFolder("metrics"), SomeConfig());
  ASSERT_TRUE(directory.ok());
  for (uint32_t i = 1; i <= 3; ++i) ASSERT_TRUE(directory->AppendMetrics(MetricsOf(i)).ok());
  std::ofstream(absl::StrCat(directory->path(), "/metrics.jsonl"), std::ios::app)
      << "{\"iteration\": 4, \"ga";
  const auto metrics = directory->ReadMetrics();
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  ASSERT_EQ(metrics->size(), 3);
  EXPECT_EQ((*metrics)[2].games(), 30);
  EXPECT_EQ((*metrics)[2].programs(0).name(), "p");
}

TEST(RunDirectory, NamesTheLineThatIsNoMetrics) {
  const auto directory = RunDirectory::Create(NewFolder("bad"), SomeConfig());
  ASSERT_TRUE(directory->AppendMetrics(MetricsOf(1)).ok());
  std::ofstream(absl::StrCat(directory->path(), "/metrics.jsonl"), std::ios::app) << "hello\n";
  EXPECT_THAT(directory->ReadMetrics().status().message(), HasSubstr("metrics.jsonl:2"));
}

TEST(RunDirectory, GoesOnWithADamagedLineInItsMetrics) {
  const auto directory = RunDirectory::Create(NewFolder("damaged"), SomeConfig());
  ASSERT_TRUE(directory->AppendMetrics(MetricsOf(1)).ok());
  std::ofstream(absl::StrCat(directory->path(), "/metrics.jsonl"), std::ios::app)
      << "{\"iteration\": 2, \"ga{\"iteration\": 3}\n";
  for (uint32_t i = 4; i <= 6; ++i) ASSERT_TRUE(directory->AppendMetrics(MetricsOf(i)).ok());
  EXPECT_TRUE(directory->TruncateMetrics(5).ok());
  // Lines 1 to 4 are left: iteration 1, the damaged line, and iterations 4 and 5. Reading them
  // names the damaged line.
  const std::string content = *ReadFile(absl::StrCat(directory->path(), "/metrics.jsonl"));
  EXPECT_EQ(std::count(content.begin(), content.end(), '\n'), 4);
  EXPECT_THAT(directory->ReadMetrics().status().message(), HasSubstr("metrics.jsonl:2"));
}

TEST(RunDirectory, AFullDiskLeavesNoHalfLine) {
  const auto directory = RunDirectory::Create(NewFolder("full"), SomeConfig());
  ASSERT_TRUE(directory->AppendMetrics(MetricsOf(1)).ok());
  const auto size = std::filesystem::file_size(directory->path() + "/metrics.jsonl");
  absl::Status full;
  {
    const FileSizeLimit limit(size + 10);
    full = directory->AppendMetrics(MetricsOf(2));
  }
  EXPECT_THAT(full.message(), HasSubstr("metrics.jsonl: cannot write: File too large"));
  EXPECT_EQ(std::filesystem::file_size(directory->path() + "/metrics.jsonl"), size);
  ASSERT_TRUE(directory->AppendMetrics(MetricsOf(3)).ok());
  const auto metrics = directory->ReadMetrics();
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  ASSERT_EQ(metrics->size(), 2);
  EXPECT_EQ((*metrics)[1].iteration(), 3);
}

TEST(RunDirectory, TruncatesMetricsBehindAnIteration) {
  const auto directory = RunDirectory::Create(NewFolder("truncate"), SomeConfig());
  for (uint32_t i = 1; i <= 5; ++i) ASSERT_TRUE(directory->AppendMetrics(MetricsOf(i)).ok());
  ASSERT_TRUE(directory->TruncateMetrics(2).ok());
  ASSERT_TRUE(directory->AppendMetrics(MetricsOf(3)).ok());
  EXPECT_EQ(directory->ReadMetrics()->size(), 3);
}

// A program's name is whatever its author called the module.
TEST(RunDirectory, AProgramsNameCannotLeaveItsFolder) {
  const std::string path = NewFolder("names");
  const RunDirectory directory = *RunDirectory::Create(path, SomeConfig());
  const std::vector<std::string> names = {"plain-name_1.x",
                                          "a/b",
                                          "a%2Fb",
                                          "../../escaped",
                                          "..",
                                          ".",
                                          "",
                                          "/tmp/absolute",
                                          std::string("nul\0byte", 8),
                                          std::string(1000, 'x'),
                                          std::string(1000, 'x') + "y"};
  for (const std::string& name : names) {
    v1::Program program;
    program.set_name(name);
    program.mutable_hardware()->set_name("v4/../..");
    const absl::Status written = directory.WriteBest(program, v1::Mapping());
    EXPECT_TRUE(written.ok()) << written;
  }
  std::set<std::string> files;
  std::string folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path + "/best")) {
    if (entry.is_directory()) continue;
    files.insert(entry.path().filename().string());
    folder = entry.path().parent_path().string();
  }
  EXPECT_EQ(files.size(), names.size());
  EXPECT_TRUE(files.contains("plain-name_1.x.mapping"));
  EXPECT_EQ(std::filesystem::path(folder).parent_path(), path + "/best");
  EXPECT_FALSE(std::filesystem::exists(path + "/escaped.mapping"));
  EXPECT_FALSE(std::filesystem::exists(path + "/escaped.program"));
  EXPECT_TRUE(std::filesystem::exists(directory.ProgramPath("v4/../..", "../../escaped")));
}

TEST(RunDirectory, KeepsTheProgramAndEveryBestMapping) {
  const RunDirectory directory = *RunDirectory::Create(NewFolder("history"), SomeConfig());
  v1::Program program;
  program.set_name("p");
  program.mutable_hardware()->set_name("chip");
  for (const char* solver : {"greedy", "agent"}) {
    v1::Mapping mapping;
    mapping.set_solver(solver);
    ASSERT_TRUE(directory.WriteBest(program, mapping).ok());
  }
  EXPECT_EQ(ReadMessage<v1::Program>(directory.ProgramPath("chip", "p"))->name(), "p");
  EXPECT_EQ(ReadMessage<v1::Mapping>(directory.BestPath("chip", "p"))->solver(), "agent");
  const std::vector<BestVersion> versions = ListBestVersions(directory.HistoryFolder("chip", "p"));
  ASSERT_EQ(versions.size(), 2);
  EXPECT_EQ(ReadMessage<v1::Mapping>(versions[0].path)->solver(), "greedy");
}

TEST(RunDirectory, MetricsAreBoundedAndKeepTheWholeCurve) {
  const RunDirectory directory = *RunDirectory::Create(NewFolder("bounded"), SomeConfig());
  constexpr size_t kMostBytes = 20000;
  for (uint32_t i = 1; i <= 3000; ++i) {
    ASSERT_TRUE(directory.AppendMetrics(MetricsOf(i), kMostBytes).ok());
    ASSERT_LE(std::filesystem::file_size(directory.path() + "/metrics.jsonl"), kMostBytes);
  }
  const std::vector<v1::TrainMetrics> all = *directory.ReadMetrics();
  EXPECT_GT(all.size(), 40);
  EXPECT_EQ(all.front().iteration(), 1);
  EXPECT_EQ(all.back().iteration(), 3000);
  // The latest part has every line; before it some are left out, and none are out of order.
  EXPECT_EQ(all[all.size() - 20].iteration(), 3000 - 19);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_GT(all[i].iteration(), all[i - 1].iteration());
  }
}

TEST(RunDirectory, RefusesMoreGamesThanAFileTakes) {
  const auto directory = RunDirectory::Create(NewFolder("many_games"), SomeConfig());
  v1::Trajectory game;
  game.set_id("one");
  game.set_actions("\1\2");
  const auto shared = std::make_shared<const v1::Trajectory>(game);
  v1::TrajectorySegment segment;
  *segment.add_trajectories() = game;
  FillHeader(segment);
  const uint64_t bytes = segment.ByteSizeLong();
  ASSERT_EQ(directory->WriteGames(3, {shared}, bytes), absl::OkStatus());
  for (const uint64_t iteration : {3, 4}) {
    const absl::Status status = directory->WriteGames(iteration, {shared, shared}, bytes);
    EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(absl::StrCat("/replay/", iteration, ".games: ")),
                      HasSubstr(absl::StrCat("at most ", bytes)), HasSubstr("max_decisions")));
  }
  // The file is as it was, and there is no other one.
  EXPECT_EQ(directory->ReadGames(3)->size(), 1);
  EXPECT_TRUE(absl::IsNotFound(directory->ReadGames(4).status()));
}

TEST(RunDirectory, KeepsOnlyTheGamesOfTheLastTwoCheckpoints) {
  const auto directory = RunDirectory::Create(NewFolder("games"), SomeConfig());
  v1::Trajectory game;
  game.set_id("one");
  game.set_actions("\1\2");
  const std::vector<SharedTrajectory> games = {std::make_shared<const v1::Trajectory>(game)};
  for (const uint64_t iteration : {2, 4, 10, 11}) {
    ASSERT_TRUE(directory->WriteGames(iteration, games).ok());
  }
  // The games of iteration 11 belong to a checkpoint that was never finished.
  directory->RemoveOtherGames(10);
  for (const uint64_t gone : {2, 11}) {
    EXPECT_TRUE(absl::IsNotFound(directory->ReadGames(gone).status())) << gone;
  }
  for (const uint64_t kept : {4, 10}) {
    const auto read = directory->ReadGames(kept);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ((*read)[0]->SerializeAsString(), game.SerializeAsString());
  }
}

}  // namespace
}  // namespace mallocmuzero
