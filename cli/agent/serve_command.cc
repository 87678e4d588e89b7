#include <google/protobuf/stubs/logging.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/agent/agent_player.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/agent/set_flag.h"
#include "cli/command_table.h"
#include "mallocmuzero/v1/serve.pb.h"
#include "rpc/security.h"
#include "serve/serve_config.h"
#include "serve/serve_role.h"

namespace mallocmuzero::cli {
namespace {

struct ServeFlags {
  std::string config;
  std::string address;
  std::string checkpoint;
  std::vector<std::string> settings;
};

absl::StatusOr<v1::ServeConfig> MakeServeConfig(const ServeFlags& flags) {
  absl::StatusOr<v1::ServeConfig> config =
      flags.config.empty() ? v1::ServeConfig() : ReadServeConfig(flags.config);
  if (!config.ok()) return TellMistakes(flags.config, config.status());
  if (!flags.address.empty()) config->set_address(flags.address);
  if (!flags.checkpoint.empty()) config->set_checkpoint(flags.checkpoint);
  for (const std::string& setting : flags.settings) {
    if (absl::Status set = SetField(setting, *config); !set.ok()) return set;
  }
  if (config->checkpoint().empty()) config->set_checkpoint(ShippedCheckpoint());
  return CompleteServeConfig(*std::move(config));
}

std::string Description(const ServeRole& role, const v1::ServeConfig& config) {
  return absl::StrCat("listens on ", role.address(), ", ", config.searches(),
                      " searches at a time, ",
                      config.checkpoint().empty() ? "without a network"
                                                  : absl::StrCat("network ", config.checkpoint()));
}

absl::StatusOr<ExitCode> RunServe(const ServeFlags& flags) {
  const absl::StatusOr<v1::ServeConfig> config = MakeServeConfig(flags);
  if (!config.ok()) return config.status();
  const absl::StatusOr<std::shared_ptr<const Security>> security =
      Security::Load(config->security(), "");
  if (!security.ok()) return security.status();
  // Broken requests of clients must not fill the log. Their callers get an error.
  const google::protobuf::LogSilencer silencer;
  return RunRole({.name = "serve",
                  .metrics_address = config->metrics_address(),
                  .security = *security,
                  .start = [&](prometheus::Registry& registry) -> absl::StatusOr<RunningRole> {
                    absl::StatusOr<std::unique_ptr<ServeRole>> started =
                        ServeRole::Start(*config, *security, &registry);
                    if (!started.ok()) return started.status();
                    const std::shared_ptr<ServeRole> role = *std::move(started);
                    return RunningRole{.description = Description(*role, *config),
                                       .status = [role] { return role->status(); },
                                       .stop =
                                           [role](absl::Duration grace) {
                                             role->Stop(grace);
                                             return absl::OkStatus();
                                           }};
                  }});
}

}  // namespace

void AddServeCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "serve");
  const auto flags = std::make_shared<ServeFlags>();
  command
      ->add_option("--config", flags->config,
                   "The configuration of the server (ServeConfig, text). Every field has a "
                   "default.")
      ->type_name("FILE");
  command
      ->add_option("--address", flags->address,
                   "The address on which the server listens. The default is 127.0.0.1:7500.")
      ->type_name("HOST:PORT");
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "The network of the agent: a checkpoint, or the folder of a training run. A "
                   "newer checkpoint in its place is played without a restart. The default is the "
                   "network that comes with the software.")
      ->type_name("PATH");
  command
      ->add_option("--set", flags->settings,
                   "Sets a field of the configuration, such as searches=8. May be repeated.")
      ->type_name("FIELD=VALUE");
  command->footer(
      "SIGTERM and Ctrl-C end the searches; their clients get the best mappings so far.");
  command->callback([flags, &body] { body.run = [flags] { return RunServe(*flags); }; });
}

}  // namespace mallocmuzero::cli
