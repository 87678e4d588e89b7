#include <cstdio>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/stop_signal.h"
#include "build_info.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/command_table.h"
#include "cli/corpus.h"
#include "cli/duration_flag.h"
#include "cluster/cluster_status.h"
#include "dashboard/dashboard.h"
#include "dashboard/http_server.h"
#include "mallocmuzero/v1/dashboard.pb.h"
#include "rpc/host_port.h"

namespace mallocmuzero::cli {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(2);

struct DashboardFlags {
  std::string run;
  ConfigFlags config;
  std::string address = "127.0.0.1:8270";
  std::string token_file;
  std::vector<std::string> workloads;
  std::string local_search = "10s";
};

// 128 random bits as text.
std::string RandomToken() {
  std::random_device device;
  std::string token;
  for (int k = 0; k < 4; ++k) absl::StrAppendFormat(&token, "%08x", device());
  return token;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const absl::StatusOr<std::string> content = ReadFile(path);
  if (!content.ok()) return content.status();
  const std::vector<std::string> lines = absl::StrSplit(*content, absl::MaxSplits('\n', 1));
  std::string token(absl::StripAsciiWhitespace(lines.front()));
  if (token.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--token-file: ", path, ": a token in the first line expected"));
  }
  return token;
}

absl::StatusOr<std::vector<std::string>> ProgramPaths(const std::vector<std::string>& workloads) {
  std::vector<std::string> paths;
  for (const std::string& path : workloads) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      paths.push_back(path);
      continue;
    }
    const absl::StatusOr<std::vector<std::string>> found = FindSomePrograms(path);
    if (!found.ok()) return found.status();
    paths.insert(paths.end(), found->begin(), found->end());
  }
  return paths;
}

// Adds the role, and behind it the actors that report to it.
void AddRole(const v1::RoleStatus& role, v1::DashboardCluster& cluster) {
  const Health health = HealthOf(role);
  v1::DashboardRole& added = *cluster.add_roles();
  *added.mutable_role() = role;
  added.mutable_role()->clear_peers();
  added.set_health(ToString(health));
  added.set_why(ReasonOf(role));
  for (const v1::RoleStatus& peer : role.peers()) AddRole(peer, cluster);
}

// Sets what the cluster's configuration says and the flags do not.
absl::Status TakeCluster(const DashboardFlags& flags, DashboardOptions& options) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithoutPrograms);
  if (!loaded.ok()) return loaded.status();
  if (options.run.empty()) options.run = loaded->config.learner().run_dir();
  const auto collector = std::make_shared<const StatusCollector>(loaded->config, loaded->security);
  options.cluster = [collector] {
    const v1::ClusterStatus status = collector->Collect(kStatusTimeout);
    v1::DashboardCluster cluster;
    cluster.set_healthy(status.healthy());
    for (const v1::RoleStatus& role : status.roles()) AddRole(role, cluster);
    return cluster;
  };
  return absl::OkStatus();
}

absl::StatusOr<DashboardOptions> MakeOptions(const DashboardFlags& flags) {
  DashboardOptions options = {.run = flags.run, .version = kVersion};
  const absl::StatusOr<absl::Duration> budget =
      ParseDurationOrZero("--local-search", flags.local_search);
  if (!budget.ok()) return budget.status();
  options.local_search = *budget;
  if (!flags.config.file.empty()) {
    absl::Status taken = TakeCluster(flags, options);
    if (!taken.ok()) return taken;
  }
  if (options.run.empty()) return absl::InvalidArgumentError("--run or --config expected");
  absl::StatusOr<std::vector<std::string>> paths = ProgramPaths(flags.workloads);
  if (!paths.ok()) return paths.status();
  options.programs = *std::move(paths);
  return options;
}

absl::StatusOr<ExitCode> RunDashboard(const DashboardFlags& flags) {
  const StopSignal signal;
  absl::StatusOr<DashboardOptions> options = MakeOptions(flags);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<Dashboard>> dashboard = Dashboard::Open(*options);
  if (!dashboard.ok()) return dashboard.status();
  std::string token;
  std::string fragment;  // of the printed address; a token of a file is not printed
  const std::optional<HostPort> parsed = ParseHostPort(flags.address, /*least_port=*/0);
  if (!flags.token_file.empty()) {
    absl::StatusOr<std::string> read = ReadToken(flags.token_file);
    if (!read.ok()) return read.status();
    token = *std::move(read);
  } else if (parsed.has_value() && !IsLoopback(*parsed)) {
    token = RandomToken();
    fragment = absl::StrCat("#token=", token);
  }
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Listen({.address = flags.address,
                          .token = token,
                          .answer = [&](const ApiRequest& r) { return (*dashboard)->Answer(r); }},
                         BuiltInPage());
  if (!server.ok()) return server.status();
  std::fputs(absl::StrCat("dashboard of ", options->run, ": http://", (*server)->address(), "/",
                          fragment, "\n")
                 .c_str(),
             stdout);
  std::fflush(stdout);
  signal.Wait(absl::InfiniteDuration());
  return ExitCode::kSuccess;
}

}  // namespace

void AddDashboardCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "dashboard");
  const auto flags = std::make_shared<DashboardFlags>();
  command
      ->add_option("--run", flags->run,
                   "The folder of the run. By default it is learner.run_dir of --config.")
      ->type_name("RUN");
  command
      ->add_option("--config", flags->config.file,
                   "The configuration of a cluster (ClusterConfig, text). The page then shows the "
                   "state of all roles, too.")
      ->type_name("FILE");
  AddSetOption(*command, flags->config);
  command->get_option("--set")->needs("--config");
  command
      ->add_option("--address", flags->address,
                   "The address of the page. Port 0 takes any free port. On an address that is not "
                   "loopback, the page needs a token.")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command
      ->add_option("--token-file", flags->token_file,
                   "A file whose first line is the token that the page needs. By default there is "
                   "none on a loopback address, and a random one, which is printed, elsewhere.")
      ->type_name("FILE");
  command
      ->add_option("--workloads", flags->workloads,
                   "Programs for the memory maps: files or folders. They are needed only for a run "
                   "whose folder does not have its programs.")
      ->type_name("PATH");
  command
      ->add_option("--local-search", flags->local_search,
                   "Local search gets this time for each program, at the lowest priority, so that "
                   "the page can compare the run with it. 0: no local search.")
      ->type_name("TIME")
      ->capture_default_str();
  command->footer("The page reads the folder and writes nothing. Ctrl-C ends it.");
  command->callback([flags, &body] { body.run = [flags] { return RunDashboard(*flags); }; });
}

}  // namespace mallocmuzero::cli
