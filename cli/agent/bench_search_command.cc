#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "actor/search/search.h"
#include "base/status_macros.h"
#include "bench/networks/search_speed.h"
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
#include "mallocmuzero/v1/network.pb.h"
#include "model/network.h"
#include "model/network_config.h"
#include "view/format.h"

namespace mallocmuzero::cli {
namespace {

constexpr char kReference[] = "reference";

constexpr double kMostSearchSeconds = 3600;

struct SearchFlags {
  std::string network = kReference;
  uint32_t hidden = 256;
  uint32_t support = 601;
  uint32_t actions = 3;
  uint32_t simulations = 32;
  uint32_t batch = 128;
  std::string precision = "fp32";
  std::string device = "cpu";
  uint32_t threads = 1;
  double seconds = 5;
  bool json = false;

  // Whether --hidden, --support or --actions was given.
  bool has_size = false;
};

absl::StatusOr<v1::NetworkConfig> ConfigOf(const SearchFlags& flags) {
  if (flags.network == kReference) {
    if (flags.support % 2 == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--support is ", flags.support, ", must be odd"));
    }
    return ReferenceNetworkConfig(flags.hidden, flags.support, flags.actions);
  }
  if (flags.has_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hidden, --support and --actions are of the reference network; ",
                     flags.network, " has sizes of its own"));
  }
  return NetworkPreset(flags.network);
}

absl::StatusOr<v1::SearchBenchReport> MakeReport(const SearchFlags& flags) {
  const absl::StatusOr<v1::NetworkConfig> config = ConfigOf(flags);
  if (!config.ok()) return config.status();
  MMZ_RETURN_IF_ERROR(ValidateNetworkConfig(*config));
  const absl::StatusOr<Precision> precision = ParsePrecision(flags.precision);
  if (!precision.ok()) return precision.status();
  const absl::StatusOr<Device> device = ParseDevice(flags.device);
  if (!device.ok()) return device.status();
  MMZ_RETURN_IF_ERROR(CheckSeconds(flags.seconds, kMostSearchSeconds));
  const absl::StatusOr<bench::SearchSpeed> speed =
      bench::MeasureSearchSpeed({.network = *config,
                                 .evaluation = {.precision = *precision, .device = *device},
                                 .simulations = flags.simulations,
                                 .batch = flags.batch,
                                 .threads = flags.threads,
                                 .seconds = flags.seconds});
  if (!speed.ok()) return speed.status();
  v1::SearchBenchReport report;
  report.set_network(flags.network);
  report.set_hidden(config->latent());
  report.set_support(config->bins());
  report.set_actions(config->actions());
  report.set_precision(flags.precision);
  report.set_device(flags.device);
  report.set_batch(flags.batch);
  report.set_simulations(flags.simulations);
  report.set_threads(flags.threads);
  report.set_seconds(flags.seconds);
  report.set_flops(static_cast<double>(CostOf(*config).step_flops));
  report.set_simulations_per_second(speed->search);
  report.set_network_only_per_second(speed->network_only);
  report.set_tree_only_per_second(speed->tree_only);
  report.set_tree_share(speed->tree_share);
  return report;
}

std::string ReportText(const v1::SearchBenchReport& report) {
  Table table(
      {{"measured", Table::Align::kLeft}, {"simulations per second", Table::Align::kRight}});
  table.AddRow({"search", FormatCount(report.simulations_per_second())});
  table.AddRow({"network only", FormatCount(report.network_only_per_second())});
  table.AddRow({"tree only", FormatCount(report.tree_only_per_second())});
  return absl::StrCat(
      report.network(), " network, ", report.hidden(), " hidden, ", report.support(), " bins, ",
      report.actions(), " actions, ", report.precision(), ", ", report.device(), "; batch ",
      report.batch(), ", ", report.simulations(), " simulations, ",
      view::FormatCounted(report.threads(), "thread"), "\n\n", table.ToText(), "\n",
      FormatPercent(report.tree_share()), " of the search is not in the network.\n");
}

absl::StatusOr<ExitCode> RunSearch(const SearchFlags& flags) {
  const absl::StatusOr<v1::SearchBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  return flags.json ? PrintJson(*report) : PrintText(ReportText(*report));
}

CLI::Option* AddCount(CLI::App& command, const std::string& flag, uint32_t& count,
                      const CLI::Validator& range, const std::string& description) {
  return command.add_option(flag, count, description)
      ->type_name("N")
      ->check(range)
      ->capture_default_str();
}

}  // namespace

void AddBenchSearchCommand(CLI::App& parent, CommandBody& body) {
  const CLI::Validator large = WholeNumber(1, 1U << 20);
  CLI::App* command = AddSubcommand(parent, "search");
  const auto flags = std::make_shared<SearchFlags>();
  std::vector<std::string> networks = NetworkPresetNames();
  networks.insert(networks.begin(), kReference);
  TakeOneOf(
      *command
           ->add_option(
               "--network", flags->network,
               "The size of the network. The size of reference is given by the next three flags.")
           ->capture_default_str(),
      networks);
  const std::array<CLI::Option*, 3> sizes = {
      AddCount(*command, "--hidden", flags->hidden, WholeNumber(2, 4096),
               "The number of floats in a hidden state of the reference network."),
      AddCount(*command, "--support", flags->support, WholeNumber(3, 4097),
               "The number of bins of a value of the reference network, an odd number."),
      AddCount(*command, "--actions", flags->actions, WholeNumber(1, kMaxSearchActions),
               "The number of actions in each state of the reference network."),
  };
  AddCount(*command, "--simulations", flags->simulations, large,
           "The number of simulations in one search.");
  AddCount(*command, "--batch", flags->batch, large,
           "The number of searches that run in step on one thread.");
  AddCount(*command, "--threads", flags->threads, WholeNumber(1, 1024),
           "The number of threads. Each has its own batch.");
  TakeOneOf(*command
                 ->add_option("--precision", flags->precision,
                              "The number format in which the network computes.")
                 ->capture_default_str(),
            {"fp32", "bf16"});
  AddDeviceFlag(*command, flags->device);
  command->add_option("--seconds", flags->seconds, "The time of each of the three measurements.")
      ->type_name("SECONDS")
      ->capture_default_str();
  AddJsonFlag(*command, "SearchBenchReport", flags->json);
  command->callback([flags, sizes, &body] {
    for (const CLI::Option* option : sizes) flags->has_size |= option->count() > 0;
    body.run = [flags] { return RunSearch(*flags); };
  });
}

}  // namespace mallocmuzero::cli
