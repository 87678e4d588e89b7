#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cluster/synthetic_actors.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "cli/table.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

constexpr uint32_t kMostActors = 100'000;

struct ActorsFlags {
  ConfigFlags config;
  bench::SyntheticOptions options;
};

// Prints two columns, for people and for scripts.
void PrintStats(const bench::SyntheticStats& stats) {
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

absl::StatusOr<ExitCode> RunActors(const ActorsFlags& flags) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithoutPrograms);
  if (!loaded.ok()) return loaded.status();
  return RunRole(
      {.name = "bench actors", .start = [&](prometheus::Registry&) -> absl::StatusOr<RunningRole> {
         absl::StatusOr<std::unique_ptr<bench::SyntheticActors>> started =
             bench::SyntheticActors::Start(loaded->config, flags.options, loaded->security);
         if (!started.ok()) return started.status();
         const std::shared_ptr<bench::SyntheticActors> actors = *std::move(started);
         return RunningRole{
             .description = absl::StrCat("stands for ", flags.options.actors, " actors"),
             .stop = [actors](absl::Duration grace) {
               PrintStats(actors->stats());
               return actors->Stop(grace);
             }};
       }});
}

}  // namespace

void AddBenchActorsCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "actors");
  const auto flags = std::make_shared<ActorsFlags>();
  AddConfigOption(*command, flags->config);
  AddLogFormatOption(*command);
  command
      ->add_option("--actors", flags->options.actors,
                   "The command stands for this number of actors.")
      ->type_name("N")
      ->check(WholeNumber(1, kMostActors))
      ->required();
  command
      ->add_option("--games-per-second", flags->options.games_per_second,
                   "Each actor delivers this number of games per second. With 0 it delivers as "
                   "many as the shards take. The default is 1.")
      ->type_name("R")
      ->check(ZeroOrMore());
  command->footer("Ctrl-C ends the load and prints what the actors did.");
  command->callback([flags, &body] { body.run = [flags] { return RunActors(*flags); }; });
}

}  // namespace mallocmuzero::cli
