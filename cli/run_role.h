// What the commands that run a role of the cluster have in common.

#ifndef MALLOCMUZERO_CLI_RUN_ROLE_H_
#define MALLOCMUZERO_CLI_RUN_ROLE_H_

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

// A configuration and what it says about security, loaded.
struct LoadedConfig {
  v1::ClusterConfig config;
  std::shared_ptr<const Security> security;
};

// Reads the file. All its mistakes go to stderr, a line each; the error says how many.
absl::StatusOr<LoadedConfig> LoadClusterConfig(const std::string& path, ConfigScope scope);

// Adds --config, which is required.
void AddConfigOption(CLI::App& command, std::string& path);

// "host:port" moved up by `index` ports; empty stays empty. InvalidArgument if there are not so
// many, which names the flag that `index` is from and the field that `address` is from.
absl::StatusOr<std::string> NthAddress(const std::string& address, uint32_t index,
                                       absl::string_view flag, absl::string_view field);

// A role at work.
struct RunningRole {
  std::string description;  // of what runs, for the log

  // Not OK: it cannot go on.
  std::function<absl::Status()> status = [] { return absl::OkStatus(); };
  std::function<absl::Status(absl::Duration grace)> stop;

  // The role's health, which /healthz reports. Must not wait.
  std::function<absl::Status()> health = [] { return absl::OkStatus(); };

  // What is to be told of it once it has stopped; empty: nothing.
  std::function<std::string()> epilogue = [] { return std::string(); };

  // The roles that it needs, so that the log tells when they go away and come back.
  std::function<std::vector<PeerState>()> peers = [] { return std::vector<PeerState>(); };
};

struct RoleOptions {
  std::string name;             // in the log
  std::string metrics_address;  // empty: none
  std::shared_ptr<const Security> security;
  std::function<absl::StatusOr<RunningRole>(prometheus::Registry& registry)> start;
};

// Serves metrics, starts the role, and stops it within five seconds once SIGTERM or SIGINT comes
// (success) or it cannot go on (failure). Says all of that on stderr.
absl::StatusOr<ExitCode> RunRole(const RoleOptions& options);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_RUN_ROLE_H_
