#include "cli/actor_command.h"

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "actor/role/actor_role.h"
#include "actor/role/synthetic_actor.h"
#include "cli/number_flag.h"
#include "cli/run_role.h"
#include "cli/table.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

struct ActorFlags {
  std::string config;
  uint32_t index = 0;
  bool reanalyse = false;
  SyntheticOptions synthetic = {.actors = 0};
};

// What the load generator did, for people and for scripts that read two columns.
void PrintSyntheticStats(const SyntheticStats& stats) {
  const auto count = [](uint64_t number) { return absl::StrCat(number); };
  std::fputs(FactList({{"games", count(stats.games)},
                       {"decisions", count(stats.decisions)},
                       {"acknowledged", count(stats.acknowledged)},
                       {"spooled bytes", count(stats.spooled_bytes)},
                       {"reports", count(stats.reports)},
                       {"failed reports", count(stats.failed_reports)},
                       {"versions noticed", count(stats.versions)},
                       {"bytes fetched", count(stats.fetched_bytes)},
                       {"actors connected", count(stats.connected)},
                       {"actors blocked", count(stats.blocked)},
                       {"report p50", absl::StrFormat("%.2f ms", stats.report_p50_ms)},
                       {"report p99", absl::StrFormat("%.2f ms", stats.report_p99_ms)},
                       {"last error", stats.last_error}})
                 .c_str(),
             stdout);
}

absl::StatusOr<ExitCode> RunSynthetic(const ActorFlags& flags, const LoadedConfig& loaded,
                                      const std::string& metrics_address) {
  return RunRole({.name = "synthetic",
                  .metrics_address = metrics_address,
                  .security = loaded.security,
                  .start = [&](prometheus::Registry&) -> absl::StatusOr<RunningRole> {
                    absl::StatusOr<std::unique_ptr<SyntheticActors>> started =
                        SyntheticActors::Start(loaded.config, flags.synthetic, loaded.security);
                    if (!started.ok()) return started.status();
                    const std::shared_ptr<SyntheticActors> role = *std::move(started);
                    return RunningRole{.description = absl::StrCat(
                                           "stands for ", flags.synthetic.actors, " actors"),
                                       .stop = [role](absl::Duration grace) {
                                         PrintSyntheticStats(role->stats());
                                         return role->Stop(grace);
                                       }};
                  }});
}

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
  if (flags.synthetic.actors > 0) return RunSynthetic(flags, *loaded, *metrics_address);
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

void AddActorCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "actor", "Run an actor of a cluster: play with the learner's newest weights");
  const auto flags = std::make_shared<ActorFlags>();
  AddConfigOption(*command, flags->config);
  command
      ->add_option("--index", flags->index,
                   "tells actors of one configuration apart: spool, metrics port; default: 0")
      ->type_name("N")
      ->check(WholeNumber(0, std::numeric_limits<uint32_t>::max()));
  auto* reanalyse =
      command->add_flag("--reanalyse", flags->reanalyse,
                        "search stored games again with the newest weights instead of playing");
  auto* synthetic =
      command
          ->add_option("--synthetic", flags->synthetic.actors,
                       "no search: stand for that many actors, to see what a cluster takes")
          ->type_name("N")
          ->check(CLI::Range(1, 100000))
          ->excludes(reanalyse);
  command
      ->add_option("--games-per-second", flags->synthetic.games_per_second,
                   "of each synthetic actor; 0: as many as the shards take; default: 1")
      ->type_name("R")
      ->check(ZeroOrMore())
      ->needs(synthetic);
  command->callback([flags, &action] { action = [flags] { return RunActor(*flags); }; });
}

}  // namespace mallocmuzero::cli
