// Configuration, metrics, signals and logs of the commands that run a role of a cluster.

#ifndef MALLOCMUZERO_CLI_AGENT_RUN_ROLE_H_
#define MALLOCMUZERO_CLI_AGENT_RUN_ROLE_H_

#include <prometheus/registry.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cluster/cluster_config.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/peer_state.h"

namespace mallocmuzero {
class Security;  // rpc/security.h
}  // namespace mallocmuzero

namespace mallocmuzero::cli {

// A configuration, and the certificates and the token that it names.
struct LoadedConfig {
  v1::ClusterConfig config;
  std::shared_ptr<const Security> security;
};

// The values of the flags that give a command its configuration.
struct ConfigFlags {
  std::string file;
  std::vector<std::string> settings;  // of --set
};

// Returns `mistakes`, the error of a configuration file with one line for each mistake. If there
// are several, prints them on stderr and returns an error that says how many.
absl::Status TellMistakes(const std::string& file, const absl::Status& mistakes);

// Reads the file, in which --set and the environment's MALLOCMUZERO_SET_... override fields; flags
// win. Tells mistakes as TellMistakes does.
absl::StatusOr<LoadedConfig> LoadClusterConfig(const ConfigFlags& flags, ConfigScope scope);

// Adds the flags --config, which is required, and --set.
void AddConfigOption(CLI::App& command, ConfigFlags& flags);

// Adds the flag --set alone.
void AddSetOption(CLI::App& command, ConfigFlags& flags);

// Adds the flag --log-format, which sets the form of the process's log (base/log.h).
void AddLogFormatOption(CLI::App& command);

// "host:port" with `index` added to the port; an empty address stays empty. InvalidArgument if the
// port would be too large. The error names the flag of `index` and the field of `address`.
absl::StatusOr<std::string> NthAddress(const std::string& address, uint32_t index,
                                       absl::string_view flag, absl::string_view field);

// A role that runs.
struct RunningRole {
  std::string description;  // of what runs, for the log

  // An error if the role cannot go on.
  std::function<absl::Status()> status = [] { return absl::OkStatus(); };
  std::function<absl::Status(absl::Duration grace)> stop;

  // The role's health, which /healthz reports. Must not wait.
  std::function<absl::Status()> health = [] { return absl::OkStatus(); };

  // An error that says why the role cannot do its work now, which /readyz reports. Must not wait.
  std::function<absl::Status()> ready = [] { return absl::OkStatus(); };

  // What is to be told of it once it has stopped; empty: nothing.
  std::function<std::string()> epilogue = [] { return std::string(); };

  // The roles that it needs, so that the log tells when they go away and come back.
  std::function<std::vector<PeerState>()> peers = [] { return std::vector<PeerState>(); };

  // Lines to log as warnings, since the last call.
  std::function<std::vector<std::string>()> take_warnings = [] {
    return std::vector<std::string>();
  };
};

// The least time that a role has to end, in seconds.
inline constexpr uint32_t kLeastSecondsToEnd = 75;

struct RoleOptions {
  std::string name;             // in the log
  std::string metrics_address;  // empty: none
  std::shared_ptr<const Security> security;
  std::function<absl::StatusOr<RunningRole>(prometheus::Registry& registry)> start;
  bool fails_when_stopped = false;  // a stop by a signal is a failure, too

  // The most time that the stop may take after the machine's clock was set back.
  uint32_t seconds_to_end = kLeastSecondsToEnd;
};

// The seconds after which a learner process that was asked to stop may be killed. It saves before
// it ends. Before that it may wait for its other processes in an update.
uint32_t LearnerSecondsToEnd(const v1::LearnerRole& learner);

// Serves metrics, starts the role, and stops it within five seconds after SIGTERM or SIGINT
// (success, unless `fails_when_stopped`), or when it cannot go on (failure). Logs each step on
// stderr. Raises the limit of open files before.
absl::StatusOr<ExitCode> RunRole(const RoleOptions& options);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_RUN_ROLE_H_
