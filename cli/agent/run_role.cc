#include "cli/agent/run_role.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/child_process.h"
#include "base/log.h"
#include "base/open_file_limit.h"
#include "base/orphan_reaper.h"
#include "base/status_at.h"
#include "base/steady_clock.h"
#include "base/stop_signal.h"
#include "cli/choice_flag.h"
#include "cluster/config_overrides.h"
#include "cluster/peer_log.h"
#include "metrics/metrics_server.h"
#include "rpc/grpc_log.h"
#include "rpc/host_port.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

// The supervisor waits one second longer.
constexpr absl::Duration kGrace = absl::Seconds(5);

// The time between two checks of whether a role can go on.
constexpr absl::Duration kCheckInterval = absl::Seconds(1);

// Waits of Abseil and deadlines of gRPC follow the wall clock. If the clock is set back by more
// than this, the process ends, because they would last as much longer.
constexpr absl::Duration kMostSetBack = absl::Seconds(10);

// The time that a learner has to end besides that in which it waits for its other processes.
constexpr uint32_t kSecondsToSave = 15;

constexpr uint32_t kLastPort = 65535;

// An answer of the metrics server that changes while the role starts, runs and stops.
class Check {
 public:
  explicit Check(absl::Status status) { Set(std::move(status)); }

  void Follow(std::function<absl::Status()> role) {
    const absl::MutexLock lock(&mutex_);
    answer_ = std::move(role);
  }
  void Set(absl::Status status) {
    Follow([status = std::move(status)] { return status; });
  }
  absl::Status Answer() const {
    const absl::MutexLock lock(&mutex_);
    return answer_();
  }

 private:
  mutable absl::Mutex mutex_;
  std::function<absl::Status()> answer_ ABSL_GUARDED_BY(mutex_);
};

// The answers of /healthz and /readyz. A role that starts or stops is well, but not ready.
struct Checks {
  Check health{absl::OkStatus()};
  Check readiness{absl::UnavailableError("starting")};
};

// Null if the role has no metrics address.
absl::StatusOr<std::unique_ptr<MetricsServer>> ServeMetrics(
    const RoleOptions& options, const std::shared_ptr<prometheus::Registry>& registry,
    const Checks& checks) {
  if (options.metrics_address.empty()) return nullptr;
  const absl::StatusOr<Security::HeaderCheck> access =
      options.security->MetricsAccess(options.metrics_address);
  if (!access.ok()) return access.status();
  absl::StatusOr<std::unique_ptr<MetricsServer>> server = MetricsServer::Listen(
      options.metrics_address, registry, [&checks] { return checks.health.Answer(); }, *access,
      [&checks] { return checks.readiness.Answer(); });
  if (server.ok()) return server;
  return StatusAt(absl::StrCat(options.name, ": metrics_address"), server.status());
}

// Until a signal comes or the role cannot go on. `clock` began before the role, whose waits follow
// the time that they began with.
absl::Status WaitForEnd(const RoleOptions& options, const StopSignal& signal,
                        const RunningRole& role, ClockWatch& clock) {
  PeerLog peers;
  while (!signal.Wait(kCheckInterval)) {
    const absl::Duration set_back = clock.NoteSetBack(absl::Now(), SteadyNow());
    if (set_back > kMostSetBack) {
      // SIGALRM ends the process: a wait that nothing interrupts must not keep it.
      alarm(options.seconds_to_end);
      return absl::AbortedError(absl::StrFormat(
          "the clock was set back by %.0f s; the process must start again, because all that it "
          "waits for would take as much longer",
          absl::ToDoubleSeconds(set_back)));
    }
    for (const PeerLog::Line& line : peers.Note(role.peers(), absl::Now())) {
      Log(line.level, options.name, line.text);
    }
    for (const std::string& warning : role.take_warnings()) {
      Log(LogLevel::kWarning, options.name, warning);
    }
    const absl::Status status = role.status();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TellMistakes(const std::string& file, const absl::Status& mistakes) {
  const absl::string_view message = mistakes.message();
  const auto lines = 1 + std::count(message.begin(), message.end(), '\n');
  if (lines == 1) return mistakes;
  for (const absl::string_view line : absl::StrSplit(message, '\n')) {
    if (GetLogFormat() == LogFormat::kJson) {
      Log(LogLevel::kError, "mallocmuzero", line);
    } else {
      WriteToStderr(absl::StrCat("mallocmuzero: ", line, "\n"));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", lines, " mistakes"));
}

absl::StatusOr<LoadedConfig> LoadClusterConfig(const ConfigFlags& flags, ConfigScope scope) {
  std::vector<ConfigOverride> overrides = OverridesFromEnvironment(environ);
  for (const std::string& setting : flags.settings) {
    absl::StatusOr<ConfigOverride> given = OverrideFromFlag(setting);
    if (!given.ok()) return given.status();
    overrides.push_back(*std::move(given));
  }
  absl::StatusOr<v1::ClusterConfig> config = ReadClusterConfig(flags.file, scope, overrides);
  if (!config.ok()) return TellMistakes(flags.file, config.status());
  absl::StatusOr<std::shared_ptr<const Security>> security =
      Security::Load(config->security(), "/");
  if (!security.ok()) return security.status();
  return LoadedConfig{*std::move(config), *std::move(security)};
}

void AddConfigOption(CLI::App& command, ConfigFlags& flags) {
  command
      .add_option("--config", flags.file, "The configuration of the cluster (ClusterConfig, text).")
      ->type_name("FILE")
      ->required();
  AddSetOption(command, flags);
}

void AddSetOption(CLI::App& command, ConfigFlags& flags) {
  command
      .add_option("--set", flags.settings,
                  "Sets one field of the configuration instead of the file, such as "
                  "learner.run_dir=/data/run or replay.0.mode=MEMORY. May be repeated. The "
                  "environment variable MALLOCMUZERO_SET_learner__run_dir does the same, and the "
                  "flag wins.")
      ->type_name("FIELD=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddLogFormatOption(CLI::App& command) {
  CLI::Option* option = command.add_option_function<std::string>(
      "--log-format",
      [](const std::string& format) {
        SetLogFormat(format == "json" ? LogFormat::kJson : LogFormat::kText);
      },
      "The form of the log: text, or json with one object a line. The default is text.");
  TakeOneOf(*option, {"text", "json"});
}

absl::StatusOr<std::string> NthAddress(const std::string& address, uint32_t index,
                                       absl::string_view flag, absl::string_view field) {
  std::optional<HostPort> parsed = ParseHostPort(address);
  if (!parsed.has_value()) return address;
  const uint32_t most = kLastPort - parsed->port;
  if (index > most) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", index, ": ", field, " is ", address,
                                                   ", so that 0 to ", most, " expected"));
  }
  parsed->port += index;
  return ToString(*parsed);
}

uint32_t LearnerSecondsToEnd(const v1::LearnerRole& learner) {
  return std::max(learner.group_timeout_seconds() + kSecondsToSave, kLeastSecondsToEnd);
}

absl::StatusOr<ExitCode> RunRole(const RoleOptions& options) {
  PassOnGrpcLog([](absl::string_view text) { Log(LogLevel::kWarning, "grpc", text); });
  RaiseOpenFileLimit();
  const StopSignal signal;
  ClockWatch clock(absl::Now(), SteadyNow());
  const OrphanReaper reaper;
  const auto registry = std::make_shared<prometheus::Registry>();
  Checks checks;
  const absl::StatusOr<std::unique_ptr<MetricsServer>> metrics =
      ServeMetrics(options, registry, checks);
  if (!metrics.ok()) return metrics.status();
  absl::StatusOr<RunningRole> role = options.start(*registry);
  if (!role.ok()) return role.status();
  // Before the log says that the role has started: who waits for that line may ask at once.
  checks.health.Follow(role->health);
  checks.readiness.Follow(role->ready);
  Log(LogLevel::kInfo, options.name,
      *metrics == nullptr
          ? role->description
          : absl::StrCat(role->description, ", metrics on ", options.metrics_address));
  NotifyReady();
  const absl::Status ended = WaitForEnd(options, signal, *role, clock);
  if (!ended.ok()) {
    Log(LogLevel::kError, options.name, absl::StrCat("cannot go on: ", ended.message()));
  }
  checks.health.Set(absl::OkStatus());
  checks.readiness.Set(absl::UnavailableError("stopping"));
  const absl::Time before = SteadyNow();
  const absl::Status stopped = role->stop(kGrace);
  const std::string epilogue = role->epilogue();
  *role = {};
  const std::string seconds =
      absl::StrFormat("%.1f s%s%s", absl::ToDoubleSeconds(SteadyNow() - before),
                      epilogue.empty() ? "" : ", ", epilogue);
  if (stopped.ok()) {
    Log(LogLevel::kInfo, options.name, absl::StrCat("stopped in ", seconds));
  } else {
    Log(LogLevel::kError, options.name,
        absl::StrCat("stopped in ", seconds, ", but: ", stopped.message()));
  }
  const bool succeeded = ended.ok() && stopped.ok() && !options.fails_when_stopped;
  return succeeded ? ExitCode::kSuccess : ExitCode::kFailure;
}

}  // namespace mallocmuzero::cli
