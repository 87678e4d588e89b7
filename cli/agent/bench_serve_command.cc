#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/compression.h"
#include "base/file_io.h"
#include "base/list_folder.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "bench/serve/serve_load.h"
#include "cli/agent/commands.h"
#include "cli/agent/server_search.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/solve_progress.h"
#include "cli/table.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

struct ServeBenchFlags {
  bench::ServeLoadOptions options;
  std::string security;
  std::string messages;
  std::vector<std::string> programs;
  std::string solver;
  std::string budget = "10s";
  std::string timeout;
  double most_growth = std::numeric_limits<double>::infinity();
  bool json = false;
};

// The files of a folder, sorted by name.
absl::StatusOr<std::vector<std::string>> ReadMessages(const std::string& folder) {
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries = ListFolder(folder);
  if (!entries.ok()) return StatusAt("--messages", entries.status());
  std::vector<std::string> paths;
  for (const std::filesystem::directory_entry& entry : *entries) {
    std::error_code error;
    if (entry.is_regular_file(error)) paths.push_back(entry.path().string());
  }
  if (paths.empty()) {
    return absl::NotFoundError(
        absl::StrCat("--messages: ", folder, ": a folder of files expected"));
  }
  std::vector<std::string> messages;
  for (const std::string& path : paths) {
    absl::StatusOr<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.status();
    messages.push_back(*std::move(bytes));
  }
  return messages;
}

absl::StatusOr<std::vector<std::string>> MakeMessages(const ServeBenchFlags& flags) {
  if (!flags.messages.empty()) return ReadMessages(flags.messages);
  const absl::StatusOr<absl::Duration> budget = ParseDuration("--budget", flags.budget);
  if (!budget.ok()) return budget.status();
  std::vector<std::string> messages;
  for (const std::string& path : flags.programs) {
    const absl::StatusOr<std::string> bytes = ReadFile(path);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<std::string> program = Compress(*bytes, path);
    if (!program.ok()) return program.status();
    v1::FindMappingRequest request;
    request.set_program(*std::move(program));
    request.set_budget_seconds(absl::ToDoubleSeconds(*budget));
    request.set_solver(flags.solver);
    messages.push_back(request.SerializeAsString());
  }
  return messages;
}

std::string ServeBenchText(const v1::ServeBenchReport& report) {
  std::string codes;
  for (const auto& [code, count] :
       std::map<std::string, uint64_t>(report.codes().begin(), report.codes().end())) {
    absl::StrAppend(&codes, codes.empty() ? "" : ", ", code, " ", count);
  }
  const auto mebibytes = [](uint64_t bytes) {
    return absl::StrCat(FormatMebibytes(static_cast<double>(bytes)), " MiB");
  };
  // 0 if no request was answered as it was sent.
  const auto overhead = [](double milliseconds) {
    return milliseconds == 0 ? "" : absl::StrFormat("%.2f ms", milliseconds);
  };
  std::vector<std::pair<std::string, std::string>> facts = {
      {"requests", absl::StrCat(report.requests())},
      {"seconds", absl::StrFormat("%.1f", report.seconds())},
      {"answers", codes},
      {"games", absl::StrCat(report.games())},
      {"simulations", absl::StrCat(report.simulations())},
      {"overhead p50", overhead(report.overhead_p50_ms())},
      {"overhead p99", overhead(report.overhead_p99_ms())}};
  if (report.last_server_bytes() > 0) {
    facts.emplace_back("server's memory",
                       absl::StrCat(mebibytes(report.first_server_bytes()), " after a twentieth, ",
                                    mebibytes(report.last_server_bytes()), " at the end"));
  }
  return FactList(facts);
}

absl::StatusOr<ExitCode> RunServeBench(const ServeBenchFlags& flags) {
  bench::ServeLoadOptions options = flags.options;
  MMZ_RETURN_IF_ERROR(CheckServerAddress(options.address));
  const absl::StatusOr<std::shared_ptr<const Security>> security =
      LoadServerSecurity(flags.security);
  if (!security.ok()) return security.status();
  MMZ_RETURN_IF_ERROR(StatusAt(flags.security, (*security)->CheckCallAddress(options.address)));
  options.security = *security;
  absl::StatusOr<std::vector<std::string>> messages = MakeMessages(flags);
  if (!messages.ok()) return messages.status();
  options.messages = *std::move(messages);
  if (!flags.timeout.empty()) {
    const absl::StatusOr<absl::Duration> timeout = ParseDuration("--timeout", flags.timeout);
    if (!timeout.ok()) return timeout.status();
    options.timeout = *timeout;
  }
  const InterruptGuard guard;
  options.stop = InterruptGuard::interrupted;
  const absl::StatusOr<v1::ServeBenchReport> report = bench::LoadServer(options);
  if (absl::IsNotFound(report.status())) {
    return absl::NotFoundError(absl::StrCat("--server-pid: ", report.status().message()));
  }
  if (!report.ok()) return ServerError(options.address, report.status());
  const bool grew = static_cast<double>(report->last_server_bytes()) >
                    (1 + flags.most_growth) * static_cast<double>(report->first_server_bytes());
  const ExitCode verdict = grew ? ExitCode::kFailure : ExitCode::kSuccess;
  return flags.json ? PrintJson(*report, verdict) : PrintText(ServeBenchText(*report), verdict);
}

// Adds the flags of the requests that clients send.
void AddRequestFlags(CLI::App& command, ServeBenchFlags& flags) {
  auto* messages =
      command
          .add_option("--messages", flags.messages,
                      "A folder whose files are requests (FindMappingRequest, binary).")
          ->type_name("FOLDER");
  auto* programs = command
                       .add_option("--program", flags.programs,
                                   "A program file for which to make requests. May be repeated.")
                       ->type_name("FILE");
  messages->excludes(programs);
  command.add_option("--solver", flags.solver, "The solver of --program.")
      ->type_name("NAME")
      ->needs(programs);
  command
      .add_option("--budget", flags.budget,
                  "The time of each search of --program. The default is 10s.")
      ->type_name("TIME")
      ->needs(programs);
}

// Adds the flags that say how many requests there are, and how they are sent.
void AddLoadFlags(CLI::App& command, ServeBenchFlags& flags) {
  bench::ServeLoadOptions& options = flags.options;
  command
      .add_option("--clients", options.clients,
                  "The number of clients, which send requests at the same time.")
      ->type_name("N")
      ->check(WholeNumber(1, 1024))
      ->capture_default_str();
  command.add_option("--requests", options.requests, "The number of requests of all clients.")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command.add_option("--timeout", flags.timeout, "The most time of a call. The default is none.")
      ->type_name("TIME");
  command.add_flag("--mutate", options.mutate,
                   "Sends one request in three with changed bytes and one cut short.");
  command.add_option("--seed", options.seed, "The seed of the changes. The default is 0.")
      ->type_name("N")
      ->check(WholeNumber(0));
}

}  // namespace

void AddBenchServeCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "serve");
  const auto flags = std::make_shared<ServeBenchFlags>();
  command->add_option("--server", flags->options.address, "The address of the server.")
      ->type_name("HOST:PORT")
      ->required();
  command
      ->add_option("--server-security", flags->security,
                   "The certificates and the token for --server (Security, text).")
      ->type_name("FILE");
  AddRequestFlags(*command, *flags);
  AddLoadFlags(*command, *flags);
  command
      ->add_option("--server-pid", flags->options.server,
                   "The process of the server, whose memory is measured.")
      ->type_name("PID")
      ->check(WholeNumber(1, std::numeric_limits<pid_t>::max()));
  command
      ->add_option("--most-growth", flags->most_growth,
                   "The exit status is 1 if the server's memory grows by more than this share. It "
                   "goes with --server-pid.")
      ->type_name("SHARE")
      ->check(ZeroOrMore())
      ->needs("--server-pid");
  AddJsonFlag(*command, "ServeBenchReport", flags->json);
  command->callback([flags, &body] {
    if (flags->messages.empty() && flags->programs.empty()) {
      throw CLI::RequiredError("--messages or --program");
    }
    body.run = [flags] { return RunServeBench(*flags); };
  });
}

}  // namespace mallocmuzero::cli
