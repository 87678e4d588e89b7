#include <cstdint>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/networks/self_play_bench.h"
#include "cli/agent/commands.h"
#include "cli/agent/device_flag.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network_config.h"

namespace mallocmuzero::cli {
namespace {

constexpr double kMostSelfPlaySeconds = 600;

struct SelfPlayFlags {
  bench::SelfPlayBenchOptions options;
  bool json = false;
};

std::string ReportText(const v1::SelfPlayBenchReport& report) {
  Table table(
      {{"measured", Table::Align::kLeft}, {"simulations per second", Table::Align::kRight}});
  table.AddRow({"self-play", FormatCount(report.simulations_per_second())});
  table.AddRow({"search alone", FormatCount(report.search_per_second())});
  return absl::StrCat(
      report.program(), ", ", report.network(), " network, ", report.precision(), ", ",
      report.device(), "; batch ", report.batch(), ", ", report.simulations(), " simulations\n\n",
      table.ToText(), "\n", FormatCount(report.decisions_per_second()),
      " decisions a second; self-play reaches ", FormatPercent(report.share_of_search()),
      " of the search alone. Its time: ", FormatPercent(report.game_share()),
      " rules and observations, ", FormatPercent(report.network_share()), " networks, ",
      FormatPercent(report.tree_share()), " trees.\n");
}

absl::StatusOr<ExitCode> RunSelfPlay(const SelfPlayFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckSeconds(flags.options.seconds, kMostSelfPlaySeconds));
  const absl::StatusOr<v1::SelfPlayBenchReport> report = bench::BenchSelfPlay(flags.options);
  if (!report.ok()) return report.status();
  return flags.json ? PrintJson(*report) : PrintText(ReportText(*report));
}

}  // namespace

void AddBenchSelfPlayCommand(CLI::App& parent, CommandBody& body) {
  const CLI::Validator large = WholeNumber(1, 1U << 16);
  CLI::App* command = AddSubcommand(parent, "self-play");
  const auto flags = std::make_shared<SelfPlayFlags>();
  command
      ->add_option("--program", flags->options.program, "The program file, which `import` wrote.")
      ->type_name("FILE")
      ->required();
  TakeOneOf(*command->add_option("--network", flags->options.network, "The size of the network.")
                 ->capture_default_str(),
            NetworkPresetNames());
  TakeOneOf(*command
                 ->add_option("--precision", flags->options.precision,
                              "The number format in which the network computes.")
                 ->capture_default_str(),
            {"fp32", "bf16"});
  AddDeviceFlag(*command, flags->options.device);
  command
      ->add_option("--simulations", flags->options.simulations,
                   "The number of simulations in one search.")
      ->type_name("N")
      ->check(large)
      ->capture_default_str();
  command
      ->add_option("--batch", flags->options.batch,
                   "The number of games that run in step on one thread.")
      ->type_name("N")
      ->check(large)
      ->capture_default_str();
  command
      ->add_option("--threads", flags->options.threads,
                   "The number of threads. Each plays its own games.")
      ->type_name("N")
      ->check(WholeNumber(1, 1024))
      ->capture_default_str();
  command
      ->add_option(
          "--seconds", flags->options.seconds,
          "The time of self-play, and again of each of the three measurements of the search.")
      ->type_name("SECONDS")
      ->capture_default_str();
  AddJsonFlag(*command, "SelfPlayBenchReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunSelfPlay(*flags); }; });
}

}  // namespace mallocmuzero::cli
