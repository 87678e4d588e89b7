#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/enums.h"
#include "base/log.h"
#include "base/message_json.h"
#include "base/orphan_reaper.h"
#include "base/steady_clock.h"
#include "base/stop_signal.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/agent_executable.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cluster/cluster_status.h"
#include "cluster/supervisor.h"
#include "mallocmuzero/v1/log.pb.h"

namespace mallocmuzero::cli {
namespace {

constexpr char kName[] = "up";
constexpr absl::Duration kStatusTimeout = absl::Seconds(2);

struct UpFlags {
  ConfigFlags config;
  std::string duration;
  std::string logs;
  std::string status_interval = "10s";
  bool new_run = false;
};

// A stage needs the stages before it.
enum Stage : uint8_t { kReplay, kLearner, kActors };

// `file` is the path of the configuration, which must not depend on the working directory.
std::vector<SupervisedProcess> Processes(const v1::ClusterConfig& config, const std::string& binary,
                                         const std::string& file, const UpFlags& flags) {
  std::vector<SupervisedProcess> processes;
  for (const v1::ReplayShard& shard : config.replay()) {
    processes.push_back({.name = shard.name(),
                         .command = {binary, "replay", "--config", file, "--shard", shard.name()},
                         .stage = kReplay});
  }
  for (uint32_t rank = 0; rank < config.learner().processes(); ++rank) {
    const std::string& name = config.learner().name();
    processes.push_back(
        {.name = rank == 0 ? name : absl::StrCat(name, ".", rank),
         .command = {binary, "learner", "--config", file, "--rank", absl::StrCat(rank)},
         .stage = kLearner,
         .grace = absl::Seconds(LearnerSecondsToEnd(config.learner()))});
    // Not for a later start: a run_dir that is empty then is one whose disk is gone.
    if (flags.new_run) processes.back().first_arguments = {"--new-run"};
  }
  for (uint32_t i = 0; i < config.actor().count(); ++i) {
    processes.push_back({.name = absl::StrCat("actor.", i),
                         .command = {binary, "actor", "--config", file, "--index", absl::StrCat(i)},
                         .stage = kActors});
  }
  for (uint32_t i = 0; i < config.reanalyse().count(); ++i) {
    processes.push_back(
        {.name = absl::StrCat("reanalyse.", i),
         .command = {binary, "actor", "--config", file, "--index", absl::StrCat(i), "--reanalyse"},
         .stage = kActors});
  }
  for (SupervisedProcess& process : processes) {
    for (const std::string& setting : flags.config.settings) {
      process.command.insert(process.command.end(), {"--set", setting});
    }
    if (GetLogFormat() == LogFormat::kJson) {
      process.command.insert(process.command.end(), {"--log-format", "json"});
    }
  }
  return processes;
}

// Shows a line that a process wrote.
void ShowLine(absl::string_view name, absl::string_view line) {
  if (GetLogFormat() == LogFormat::kText) {
    return WriteToStderr(absl::StrCat(name, " | ", line, "\n"));
  }
  // The line is a JSON object unless a library or the system wrote it.
  v1::LogRecord record;
  if (MessageFromJson(line, record).ok()) return WriteToStderr(absl::StrCat(line, "\n"));
  Log(LogLevel::kWarning, name, line);
}

// Logs the state of the cluster at intervals, on a thread of its own.
class StatusReporter {
 public:
  StatusReporter(const LoadedConfig& loaded, const Supervisor& supervisor, absl::Duration interval)
      : supervisor_(supervisor),
        collector_(loaded.config, loaded.security),
        thread_([this, interval] {
          while (!stop_.WaitForNotificationWithTimeout(interval)) Report();
        }) {}
  ~StatusReporter() {
    stop_.Notify();
    thread_.join();
  }
  StatusReporter(const StatusReporter&) = delete;
  StatusReporter& operator=(const StatusReporter&) = delete;

 private:
  void Report() const {
    const v1::ClusterStatus status = collector_.Collect(kStatusTimeout);
    Log(status.healthy() ? LogLevel::kInfo : LogLevel::kWarning, kName,
        absl::StrFormat("%u of %u processes, %u restarts; %s", supervisor_.running(),
                        supervisor_.processes(), supervisor_.restarts(), SummaryLine(status)));
  }

  const Supervisor& supervisor_;
  const StatusCollector collector_;
  absl::Notification stop_;
  std::thread thread_;
};

// Looks whether the configuration has other shards than before. Other changes of the file take
// effect at the next start.
class ShardSections {
 public:
  ShardSections(std::vector<SupervisedProcess> processes, std::string binary, std::string file,
                UpFlags flags)
      : processes_(std::move(processes)),
        binary_(std::move(binary)),
        file_(std::move(file)),
        flags_(std::move(flags)),
        changed_(LastChange()) {}

  // The processes by the file as it is now, if the file has changed since the last call.
  std::optional<std::vector<SupervisedProcess>> Look() {
    const std::filesystem::file_time_type changed = LastChange();
    if (changed == changed_) return std::nullopt;
    changed_ = changed;
    const absl::StatusOr<LoadedConfig> loaded =
        LoadClusterConfig(flags_.config, ConfigScope::kWithPrograms);
    if (!loaded.ok()) {
      Log(LogLevel::kError, kName,
          absl::StrCat("keeps the configuration as it was: ", loaded.status().message()));
      return std::nullopt;
    }
    std::erase_if(processes_, [](const auto& process) { return process.stage == kReplay; });
    for (SupervisedProcess& process : Processes(loaded->config, binary_, file_, flags_)) {
      if (process.stage == kReplay) processes_.push_back(std::move(process));
    }
    return processes_;
  }

 private:
  std::filesystem::file_time_type LastChange() const {
    std::error_code error;
    return std::filesystem::last_write_time(file_, error);
  }

  std::vector<SupervisedProcess> processes_;
  const std::string binary_;
  const std::string file_;
  const UpFlags flags_;
  std::filesystem::file_time_type changed_;
};

absl::StatusOr<ExitCode> Supervise(const UpFlags& flags, const LoadedConfig& loaded,
                                   absl::Time deadline, absl::Duration status_interval) {
  const absl::StatusOr<std::filesystem::path> binary = OwnBinary();
  if (!binary.ok()) return binary.status();
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::absolute(flags.config.file, ignored);
  SupervisorOptions options;
  options.processes = Processes(loaded.config, binary->string(), file.string(), flags);
  options.log_folder = flags.logs.empty() ? (file.parent_path() / "logs").string() : flags.logs;
  options.hopeless_exit_code = Underlying(ExitCode::kBadInput);
  const auto sections =
      std::make_shared<ShardSections>(options.processes, binary->string(), file.string(), flags);
  options.refresh = [sections] { return sections->Look(); };
  options.on_line = ShowLine;
  options.on_event = [](LogLevel level, const std::string& text) { Log(level, kName, text); };
  // A terminal that takes no more output must not block the supervisor.
  NeverWaitForStderr();
  const StopSignal signal;
  const OrphanReaper reaper;
  absl::StatusOr<std::unique_ptr<Supervisor>> supervisor = Supervisor::Create(options);
  if (!supervisor.ok()) return supervisor.status();
  Log(LogLevel::kInfo, kName,
      absl::StrCat(options.processes.size(), " processes, logs in ", options.log_folder));
  absl::Status status;
  {
    const StatusReporter reporter(loaded, **supervisor, status_interval);
    status = (*supervisor)->Run(signal.fd(), deadline);
  }
  if (status.ok()) {
    Log(LogLevel::kInfo, kName, absl::StrCat("stopped; ", (*supervisor)->restarts(), " restarts"));
    return ExitCode::kSuccess;
  }
  Log(LogLevel::kError, kName, status.message());
  return ExitCode::kFailure;
}

absl::StatusOr<ExitCode> RunUp(const UpFlags& flags) {
  absl::Time deadline = absl::InfiniteFuture();
  if (!flags.duration.empty()) {
    const absl::StatusOr<absl::Duration> duration = ParseDuration("--for", flags.duration);
    if (!duration.ok()) return duration.status();
    deadline = SteadyNow() + *duration;
  }
  const absl::StatusOr<absl::Duration> interval =
      ParseDuration("--status-every", flags.status_interval);
  if (!interval.ok()) return interval.status();
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithPrograms);
  if (!loaded.ok()) return loaded.status();
  return Supervise(flags, *loaded, deadline, *interval);
}

}  // namespace

void AddUpCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "up");
  const auto flags = std::make_shared<UpFlags>();
  AddConfigOption(*command, flags->config);
  AddLogFormatOption(*command);
  command
      ->add_option("--for", flags->duration,
                   "Stops the cluster after this time. By default it stops at Ctrl-C.")
      ->type_name("TIME");
  command
      ->add_option("--logs", flags->logs,
                   "The folder of the log files, one for each process. The default is the folder "
                   "logs beside FILE.")
      ->type_name("FOLDER");
  command
      ->add_option("--status-every", flags->status_interval,
                   "Prints a line about the cluster's state each time this time has passed. The "
                   "default is 10s.")
      ->type_name("TIME");
  command->add_flag("--new-run", flags->new_run,
                    "Begins a new run although the shards hold games of another one.");
  command->footer("Ctrl-C stops actors, learner and replay in that order; again: at once.");
  command->callback([flags, &body] { body.run = [flags] { return RunUp(*flags); }; });
}

}  // namespace mallocmuzero::cli
