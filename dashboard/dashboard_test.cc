#include "dashboard/dashboard.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/message_file.h"
#include "base/message_json.h"
#include "dashboard/testing/demo_run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/dashboard.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "rpc/testing/await.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using testing::kHostileProgram;
using testing::kLargeProgram;

std::string NewFolder(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/dashboard_test_" + name;
  std::filesystem::remove_all(path);
  return path;
}

// The run is made once, because local search takes a moment.
std::string DemoRun() {
  static const std::string* const kPath = [] {
    auto path = std::make_unique<std::string>(NewFolder("demo"));
    const absl::Status written = testing::WriteDemoRun(*path);
    EXPECT_TRUE(written.ok()) << written;
    return path.release();
  }();
  return *kPath;
}

std::unique_ptr<Dashboard> OpenDashboard(DashboardOptions options) {
  absl::StatusOr<std::unique_ptr<Dashboard>> dashboard = Dashboard::Open(std::move(options));
  EXPECT_TRUE(dashboard.ok()) << dashboard.status();
  return dashboard.ok() ? *std::move(dashboard) : nullptr;
}

template <typename Message>
Message Ask(Dashboard& dashboard, const ApiRequest& request) {
  Message message;
  const absl::StatusOr<std::string> answer = dashboard.Answer(request);
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (answer.ok()) {
    EXPECT_EQ(MessageFromJson(*answer, message), absl::OkStatus());
  }
  return message;
}

ApiRequest About(const std::string& path, const std::string& program,
                 std::map<std::string, std::string> more = {}) {
  more["chip"] = "small";
  more["program"] = program;
  return {.path = path, .query = std::move(more)};
}

TEST(Dashboard, OpensOnlyARun) {
  EXPECT_TRUE(absl::IsNotFound(Dashboard::Open({.run = NewFolder("none")}).status()));
  EXPECT_FALSE(Dashboard::Open({.run = DemoRun(), .programs = {"/nowhere.program"}}).ok());
}

TEST(Dashboard, DescribesTheRun) {
  const auto dashboard = OpenDashboard({.run = DemoRun() + "/", .version = "7"});
  const auto run = Ask<v1::DashboardRun>(*dashboard, {.path = "run"});
  EXPECT_EQ(run.name(), "dashboard_test_demo");
  EXPECT_EQ(run.version(), "7");
  EXPECT_EQ(run.iteration(), 40);
  EXPECT_EQ(run.interval_seconds(), 2);
  EXPECT_EQ(run.curves().seconds_size(), 40);
  EXPECT_EQ(run.mean().best_size(), 40);
  EXPECT_FALSE(run.has_cluster());
  ASSERT_EQ(run.programs_size(), 2);
  for (const v1::DashboardProgramRow& row : run.programs()) {
    EXPECT_EQ(row.no_map(), "");
    EXPECT_EQ(row.versions(), 3);
  }
}

TEST(Dashboard, SeesWhatTheRunAppends) {
  const std::string path = NewFolder("live");
  const RunDirectory directory = *RunDirectory::Create(path, {});
  const auto dashboard = OpenDashboard({.run = path});
  EXPECT_FALSE(Ask<v1::DashboardRun>(*dashboard, {.path = "run"}).has_silent_seconds());
  for (const uint32_t iteration : {1, 2}) {
    ASSERT_TRUE(directory.AppendMetrics(testing::DemoMetrics(iteration)).ok());
    const auto run = Ask<v1::DashboardRun>(*dashboard, {.path = "run"});
    EXPECT_EQ(run.iteration(), iteration);
    EXPECT_TRUE(run.has_silent_seconds());
    EXPECT_THAT(run.programs(0).no_map(), HasSubstr("--workloads"));
  }
}

TEST(Dashboard, ShowsEveryMappingOfAProgram) {
  const auto dashboard = OpenDashboard({.run = DemoRun()});
  const auto program = Ask<v1::DashboardProgram>(*dashboard, About("program", kLargeProgram));
  EXPECT_EQ(program.instructions().name_size(), 1500);
  ASSERT_EQ(program.versions_size(), 5);
  EXPECT_EQ(program.versions(0).id(), "default");
  EXPECT_EQ(program.versions(1).id(), "all_hbm");
  EXPECT_EQ(program.versions(4).id(), "3");
  EXPECT_EQ(program.versions(4).title(), "best #3, found by local_search");
  EXPECT_LT(program.versions(3).cycles(), program.versions(2).cycles());
  for (const v1::DashboardVersion& version : program.versions()) {
    const auto map = Ask<v1::DashboardMap>(
        *dashboard, About("map", kLargeProgram, {{"mapping", version.id()}, {"axis", "cycles"}}));
    EXPECT_EQ(map.id(), version.id());
    EXPECT_NEAR(map.cycles(), version.cycles(), 1);
    EXPECT_EQ(map.steps().cycles_size(), 1500);
  }
}

TEST(Dashboard, SaysInWhichIterationAMappingWasFoundFirst) {
  const std::string path = NewFolder("found");
  std::filesystem::copy(DemoRun(), path, std::filesystem::copy_options::recursive);
  const auto dashboard = OpenDashboard({.run = path});
  const auto ask = [&] {
    return Ask<v1::DashboardProgram>(*dashboard, About("program", kLargeProgram));
  };
  const v1::DashboardProgram before = ask();
  ASSERT_EQ(before.versions_size(), 5);
  const double value = 1 - before.versions(4).cycles() / before.versions(1).cycles();
  const absl::StatusOr<RunDirectory> directory = RunDirectory::Open(path);
  ASSERT_TRUE(directory.ok()) << directory.status();
  std::filesystem::remove(directory->metrics_path());
  v1::TrainMetrics metrics;
  for (const double best : {value - 0.02, value - 0.01, value, value, value + 0.01}) {
    metrics.set_iteration(metrics.iteration() + 1);
    metrics.clear_programs();
    v1::TrainMetrics::Program& program = *metrics.add_programs();
    program.set_name(kLargeProgram);
    program.set_hardware("small");
    program.set_best_return(best);
    ASSERT_EQ(directory->AppendMetrics(metrics), absl::OkStatus());
  }
  EXPECT_EQ(ask().versions(4).iteration(), 3);
}

TEST(Dashboard, FollowsAnotherRunInTheSameFolder) {
  const std::string path = NewFolder("again");
  std::filesystem::copy(DemoRun(), path, std::filesystem::copy_options::recursive);
  const auto dashboard = OpenDashboard({.run = path});
  const auto versions = [&] {
    return Ask<v1::DashboardProgram>(*dashboard, About("program", kLargeProgram)).versions();
  };
  const auto before = versions();
  ASSERT_EQ(before.size(), 5);
  // The new run finds at once what the other one found last.
  const std::string history =
      RunDirectory::Open(path)->HistoryFolder("small", kLargeProgram) + "/00000";
  std::filesystem::rename(history + "3.mapping", history + "1.mapping");
  std::filesystem::last_write_time(history + "1.mapping",
                                   std::filesystem::file_time_type::clock::now());
  std::filesystem::remove(history + "2.mapping");
  const auto after = versions();
  ASSERT_EQ(after.size(), 3);
  EXPECT_EQ(after[2].title(), "best #1, found by local_search");
  EXPECT_EQ(after[2].cycles(), before[4].cycles());
}

TEST(Dashboard, TakesProgramsOfFiles) {
  const std::string path = NewFolder("without_programs");
  std::filesystem::copy(DemoRun(), path, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(path + "/programs");
  const std::string file = RunDirectory::Open(DemoRun())->ProgramPath("small", kLargeProgram);
  const auto dashboard = OpenDashboard({.run = path, .programs = {file}});
  const auto run = Ask<v1::DashboardRun>(*dashboard, {.path = "run"});
  EXPECT_EQ(run.programs_size(), 2);
  for (const v1::DashboardProgramRow& row : run.programs()) {
    EXPECT_EQ(row.no_map().empty(), row.name() == kLargeProgram);
  }
}

// The corpus may have been imported anew since the run.
TEST(Dashboard, PrefersTheProgramOfTheRunToAFile) {
  auto other =
      ReadMessage<v1::Program>(RunDirectory::Open(DemoRun())->ProgramPath("small", kLargeProgram));
  ASSERT_TRUE(other.ok()) << other.status();
  other->mutable_instructions(0)->set_op_name("another");
  SealProgram(*other);
  const std::string file = NewFolder("another") + ".program";
  ASSERT_TRUE(WriteMessage(file, *other).ok());
  const auto dashboard = OpenDashboard({.run = DemoRun(), .programs = {file}});
  const auto program = Ask<v1::DashboardProgram>(*dashboard, About("program", kLargeProgram));
  EXPECT_EQ(program.versions_size(), 5);
}

TEST(Dashboard, ShowsTheBestMappingOfARunWithoutHistory) {
  const std::string path = NewFolder("without_history");
  std::filesystem::copy(DemoRun(), path, std::filesystem::copy_options::recursive);
  std::filesystem::remove_all(path + "/history");
  const auto dashboard = OpenDashboard({.run = path});
  const auto program = Ask<v1::DashboardProgram>(*dashboard, About("program", kLargeProgram));
  ASSERT_EQ(program.versions_size(), 3);
  EXPECT_EQ(program.versions(2).id(), "best");
}

TEST(Dashboard, SaysWhatItDoesNotHave) {
  const auto dashboard = OpenDashboard({.run = DemoRun()});
  for (const ApiRequest& request :
       {ApiRequest{.path = "nothing"}, ApiRequest{.path = "cluster"}, About("gains", "other"),
        About("program", "../../../../etc/passwd"), About("program", "other"),
        About("map", kLargeProgram, {{"mapping", "99"}, {"axis", "cycles"}}),
        About("map", kLargeProgram, {{"mapping", "../../best"}, {"axis", "cycles"}})}) {
    EXPECT_TRUE(absl::IsNotFound(dashboard->Answer(request).status())) << request.path;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      dashboard->Answer(About("map", kLargeProgram, {{"mapping", "1"}, {"axis", "days"}}))
          .status()));
}

TEST(Dashboard, GainsOfAProgramWithAnyName) {
  const auto dashboard = OpenDashboard({.run = DemoRun()});
  const auto gains = Ask<v1::DashboardGains>(*dashboard, About("gains", kHostileProgram));
  EXPECT_EQ(gains.seconds_size(), 40);
  EXPECT_EQ(gains.reference(), "all in HBM");
}

TEST(Dashboard, ComparesWithLocalSearch) {
  const auto dashboard = OpenDashboard({.run = DemoRun(), .local_search = absl::Milliseconds(50)});
  v1::DashboardRun run;
  ASSERT_TRUE(testing::Await([&] {
    run = Ask<v1::DashboardRun>(*dashboard, {.path = "run"});
    return run.mean().has_local_search();
  }));
  for (const v1::DashboardProgramRow& row : run.programs()) EXPECT_TRUE(row.has_local_search());
  EXPECT_TRUE(
      Ask<v1::DashboardGains>(*dashboard, About("gains", kLargeProgram)).has_local_search());
}

TEST(Dashboard, PassesTheClusterOn) {
  const auto dashboard = OpenDashboard({.run = DemoRun(), .cluster = [] {
                                          v1::DashboardCluster cluster;
                                          cluster.add_roles()->set_health("blocked");
                                          return cluster;
                                        }});
  EXPECT_TRUE(Ask<v1::DashboardRun>(*dashboard, {.path = "run"}).has_cluster());
  const auto cluster = Ask<v1::DashboardCluster>(*dashboard, {.path = "cluster"});
  ASSERT_EQ(cluster.roles_size(), 1);
  EXPECT_EQ(cluster.roles(0).health(), "blocked");
}

}  // namespace
}  // namespace mallocmuzero
