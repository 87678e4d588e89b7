#include <cstdint>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/sha256.h"
#include "base/status_at.h"
#include "bench/networks/play_bench.h"
#include "cli/agent/commands.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/program_set_flags.h"
#include "cli/table.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "model/network_config.h"
#include "view/learning_curves.h"

namespace mallocmuzero::cli {
namespace {

struct PlayFlags {
  ProgramSetFlags programs;
  std::string checkpoint;
  std::string network = "tiny";
  uint64_t seed = 0;
  uint32_t simulations = 16;
  bool json = false;
};

// Sets `sha256` to that of the checkpoint's file, if there is one. The file is read once, because a
// training run may replace it.
absl::StatusOr<std::unique_ptr<Network>> PlayingNetwork(const PlayFlags& flags,
                                                        std::string& sha256) {
  if (!flags.checkpoint.empty()) {
    const absl::StatusOr<std::string> bytes = ReadFile(flags.checkpoint);
    if (!bytes.ok()) return bytes.status();
    sha256 = absl::BytesToHexString(Sha256(*bytes));
    const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(*bytes, flags.checkpoint);
    if (!checkpoint.ok()) return checkpoint.status();
    absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(*checkpoint);
    if (!network.ok()) return StatusAt(flags.checkpoint, network.status());
    return network;
  }
  const absl::StatusOr<v1::NetworkConfig> config = NetworkPreset(flags.network);
  if (!config.ok()) return config.status();
  return Network::Create(*config, flags.seed);
}

absl::StatusOr<v1::PlayBenchReport> MakeReport(const PlayFlags& flags) {
  std::string sha256;
  const absl::StatusOr<std::unique_ptr<Network>> network = PlayingNetwork(flags, sha256);
  if (!network.ok()) return network.status();
  const absl::StatusOr<ProgramSet> programs = LoadProgramSet(flags.programs);
  if (!programs.ok()) return programs.status();
  absl::StatusOr<v1::PlayBenchReport> report =
      bench::BenchPlay(*programs, **network, flags.simulations);
  if (!report.ok()) return report;
  report->set_checkpoint(flags.checkpoint);
  report->set_checkpoint_sha256(sha256);
  return report;
}

std::string ReportText(const v1::PlayBenchReport& report) {
  Table table({{"share of the all-HBM cycles saved", Table::Align::kLeft},
               {"decisions", Table::Align::kRight},
               {"default", Table::Align::kRight},
               {"greedy", Table::Align::kRight},
               {"network", Table::Align::kRight}});
  for (const v1::PlayBenchReport::Program& p : report.programs()) {
    const auto saved = [&](double cycles) {
      return FormatPercent(1 - cycles / p.all_hbm_cycles());
    };
    table.AddRow({view::NameOnChip(p.program(), p.hardware()), FormatCount(p.decisions()),
                  p.has_default_cycles() ? saved(p.default_cycles()) : "", saved(p.greedy_cycles()),
                  saved(p.total_cycles())});
  }
  return absl::StrCat(table.ToText(), "\n", report.simulations(), " simulations a decision\n");
}

absl::StatusOr<ExitCode> RunPlay(const PlayFlags& flags) {
  const absl::StatusOr<v1::PlayBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  return flags.json ? PrintJson(*report) : PrintText(ReportText(*report));
}

}  // namespace

void AddBenchPlayCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "play");
  const auto flags = std::make_shared<PlayFlags>();
  AddProgramSetFlags(*command, "play", flags->programs);
  auto* checkpoint =
      command
          ->add_option(
              "--checkpoint", flags->checkpoint,
              "The checkpoint of the network that plays. By default an untrained network plays.")
          ->type_name("FILE");
  TakeOneOf(*command->add_option("--network", flags->network, "The size of the untrained network.")
                 ->capture_default_str()
                 ->excludes(checkpoint),
            NetworkPresetNames());
  command->add_option("--seed", flags->seed, "The seed of the untrained network's weights.")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->excludes(checkpoint);
  command
      ->add_option("--simulations", flags->simulations,
                   "The search makes this number of simulations for each decision. With 0 the "
                   "policy alone decides.")
      ->type_name("N")
      ->check(WholeNumber(0, 1U << 16))
      ->capture_default_str();
  AddJsonFlag(*command, "PlayBenchReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunPlay(*flags); }; });
}

}  // namespace mallocmuzero::cli
