#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "actor/role/actor_role.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

struct ActorFlags {
  ConfigFlags config;
  uint32_t index = 0;
  bool reanalyse = false;
};

std::string Description(const ActorRole& role, const v1::ClusterConfig& config) {
  const size_t found = role.found_in_spool();
  return absl::StrCat("will play for the learner on ", config.learner().address(),
                      found == 0 ? "" : absl::StrCat(", ", found, " games found in spool_dir"));
}

absl::StatusOr<ExitCode> RunActor(const ActorFlags& flags) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithoutPrograms);
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<std::string> metrics_address =
      flags.reanalyse ? NthAddress(loaded->config.reanalyse().metrics_address(), flags.index,
                                   "--index", "reanalyse.metrics_address")
                      : NthAddress(loaded->config.actor().metrics_address(), flags.index, "--index",
                                   "actor.metrics_address");
  if (!metrics_address.ok()) return metrics_address.status();
  return RunRole({.name = absl::StrCat(flags.reanalyse ? "reanalyse." : "actor.", flags.index),
                  .metrics_address = *metrics_address,
                  .security = loaded->security,
                  .start = [&](prometheus::Registry& registry) -> absl::StatusOr<RunningRole> {
                    absl::StatusOr<std::unique_ptr<ActorRole>> started = ActorRole::Start(
                        loaded->config, flags.index, flags.reanalyse, loaded->security, registry);
                    if (!started.ok()) return started.status();
                    const std::shared_ptr<ActorRole> role = *std::move(started);
                    return RunningRole{
                        .description = Description(*role, loaded->config),
                        .status = [role] { return role->status(); },
                        .stop = [role](absl::Duration grace) { return role->Stop(grace); },
                        .ready = [role] { return role->ready(); },
                        .epilogue =
                            [role] {
                              const size_t left = role->left_in_spool();
                              return left == 0 ? ""
                                               : absl::StrCat(left, " games left in spool_dir");
                            },
                        .peers = [role] { return role->peers(); }};
                  }});
}

}  // namespace

void AddActorCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "actor");
  const auto flags = std::make_shared<ActorFlags>();
  AddConfigOption(*command, flags->config);
  AddLogFormatOption(*command);
  command
      ->add_option("--index", flags->index,
                   "The number of this actor among the actors of the configuration. Its spool file "
                   "and its metrics port depend on it. The default is 0.")
      ->type_name("N")
      ->check(WholeNumber(0, std::numeric_limits<uint32_t>::max()));
  command->add_flag("--reanalyse", flags->reanalyse,
                    "The actor searches stored games again with the newest weights instead of "
                    "playing new games.");
  command->callback([flags, &body] { body.run = [flags] { return RunActor(*flags); }; });
}

}  // namespace mallocmuzero::cli
