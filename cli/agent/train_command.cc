#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/exists.h"
#include "base/log.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/thread_count.h"
#include "cli/agent/commands.h"
#include "cli/agent/set_flag.h"
#include "cli/agent/train_view.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/program_set_flags.h"
#include "cli/solve_progress.h"
#include "env/program_set.h"
#include "google/protobuf/util/message_differencer.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/run_report.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "train/metrics_exporter.h"
#include "train/train_config.h"
#include "train/training_run.h"

namespace mallocmuzero::cli {
namespace {

using google::protobuf::util::MessageDifferencer;

struct TrainFlags {
  ProgramSetFlags programs;
  std::string output;
  std::string budget;
  uint64_t iterations = 0;
  bool resume = false;
  std::string config;
  std::vector<std::string> settings;
  std::string network = "tiny";
  std::string from;
  std::string device = "auto";
  std::string metrics_address;
  double demonstrations = 0;
  uint32_t threads = 0;
  uint64_t seed = 0;
  bool json = false;

  // These options tell whether the flag was given.
  CLI::Option* network_option = nullptr;
  CLI::Option* demonstrations_option = nullptr;
  CLI::Option* threads_option = nullptr;
  CLI::Option* seed_option = nullptr;
};

// Each sets a field if its flag was given.
void SetDemonstrations(const TrainFlags& flags, v1::TrainConfig& config) {
  if (flags.demonstrations_option->count() > 0) {
    config.set_demonstration_seconds(flags.demonstrations);
  }
}
void SetThreads(const TrainFlags& flags, v1::TrainConfig& config) {
  if (flags.threads_option->count() > 0) config.mutable_self_play()->set_threads(flags.threads);
}
void SetSeed(const TrainFlags& flags, v1::TrainConfig& config) {
  if (flags.seed_option->count() > 0) config.set_seed(flags.seed);
}

// `from` may be null.
absl::StatusOr<v1::TrainConfig> MakeConfig(const TrainFlags& flags, const Network* from) {
  absl::StatusOr<v1::TrainConfig> config = flags.config.empty()
                                               ? DefaultTrainConfig(flags.network)
                                               : ReadMessage<v1::TrainConfig>(flags.config);
  if (!config.ok()) return config;
  if (from != nullptr) *config->mutable_network() = from->config();
  SetDemonstrations(flags, *config);
  SetThreads(flags, *config);
  SetSeed(flags, *config);
  const bool good_before = CheckTrainConfig(*config).ok();
  for (const std::string& setting : flags.settings) {
    absl::Status set = SetField(setting, *config);
    if (!set.ok()) return set;
  }
  const absl::Status status = CheckTrainConfig(*config);
  if (status.ok()) return config;
  return StatusAt(good_before ? "--set" : flags.config.empty() ? flags.from : flags.config, status);
}

absl::StatusOr<Device> ChooseDevice(const std::string& name) {
  if (name == "auto") return HasCuda() ? Device::kCuda : Device::kCpu;
  absl::StatusOr<Device> device = ParseDevice(name);
  if (device.ok()) return device;
  return absl::InvalidArgumentError(
      absl::StrCat("--device: expected cpu, cuda or auto, found '", name, "'"));
}

// OK if the flags leave the settings of the run in --output as they are. InvalidArgument names a
// flag that would change them.
absl::Status CheckKeepsSettings(const TrainFlags& flags) {
  const absl::StatusOr<RunDirectory> directory = RunDirectory::Open(flags.output);
  if (!directory.ok()) return directory.status();
  const absl::StatusOr<v1::TrainConfig> saved = directory->ReadConfig();
  if (!saved.ok()) return saved.status();
  // `given` is the configuration that `flag` asks for.
  const auto check = [&](absl::string_view flag, const v1::TrainConfig& given) {
    if (MessageDifferencer::Equals(given, *saved)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        flag,
        ": would change the run, and --resume keeps its settings; leave the flag out, or edit ",
        flags.output, "/config.textproto"));
  };
  if (!flags.config.empty()) {
    const absl::StatusOr<v1::TrainConfig> given = MakeConfig(flags, /*from=*/nullptr);
    return given.ok() ? check("--config", *given) : given.status();
  }
  v1::TrainConfig given = *saved;
  if (flags.network_option->count() > 0) {
    const absl::StatusOr<v1::TrainConfig> fresh = DefaultTrainConfig(flags.network);
    if (!fresh.ok()) return fresh.status();
    *given.mutable_network() = fresh->network();
    MMZ_RETURN_IF_ERROR(check("--network", given));
  }
  SetDemonstrations(flags, given);
  MMZ_RETURN_IF_ERROR(check("--demonstrations", given));
  SetThreads(flags, given);
  MMZ_RETURN_IF_ERROR(check("--threads", given));
  SetSeed(flags, given);
  MMZ_RETURN_IF_ERROR(check("--seed", given));
  for (const std::string& setting : flags.settings) {
    MMZ_RETURN_IF_ERROR(SetField(setting, given));
  }
  return check("--set", given);
}

absl::StatusOr<std::unique_ptr<TrainingRun>> OpenRun(const TrainFlags& flags) {
  const absl::StatusOr<Device> device = ChooseDevice(flags.device);
  if (!device.ok()) return device.status();
  if (flags.resume) {
    MMZ_RETURN_IF_ERROR(CheckKeepsSettings(flags));
    absl::StatusOr<ProgramSet> programs = LoadProgramSet(flags.programs);
    if (!programs.ok()) return programs.status();
    return TrainingRun::Resume(flags.output, *std::move(programs), *device);
  }
  std::unique_ptr<Network> from;
  if (!flags.from.empty()) {
    absl::StatusOr<std::unique_ptr<Network>> network = LoadNetwork(flags.from);
    if (!network.ok()) return network.status();
    from = *std::move(network);
  }
  const absl::StatusOr<v1::TrainConfig> config = MakeConfig(flags, from.get());
  if (!config.ok()) return config.status();
  absl::StatusOr<ProgramSet> programs = LoadProgramSet(flags.programs);
  if (!programs.ok()) return programs.status();
  return TrainingRun::Start(flags.output, *config, *std::move(programs), *device, from.get());
}

// The learner never learns from a game that alone exceeds the bound of the store.
void WarnOfGamesThatAreNotStored(const TrainingRun& run) {
  const uint64_t most = run.config().replay().max_decisions();
  for (size_t p = 0; p < run.programs().size(); ++p) {
    const PlayedProgram& program = run.programs()[p];
    if (program.decisions() <= most) continue;
    Log(LogLevel::kWarning, "train",
        absl::StrCat("replay.max_decisions: games of ", program.name(), " have about ",
                     program.decisions(), " decisions, more than ", most,
                     ", so that they are not stored and nothing is learned from them"));
  }
}

v1::TrainReport MakeReport(const TrainFlags& flags, const TrainingRun& run, bool interrupted) {
  v1::TrainReport report;
  report.set_run(flags.output);
  report.set_seconds(run.seconds());
  report.set_iterations(run.iteration());
  report.set_games(static_cast<double>(run.games()));
  report.set_updates(static_cast<double>(run.saved_updates()));
  report.set_interrupted(interrupted);
  for (const ProgramProgress& progress : run.progress()) {
    const PlayedProgram& program = *progress.program;
    const double all_hbm = program.rules().all_hbm_cycles();
    v1::TrainReport::Program& entry = *report.add_programs();
    entry.set_program(program.name());
    entry.set_hardware(program.program().hardware().name());
    entry.set_all_hbm_cycles(all_hbm);
    if (!std::isnan(program.default_return())) {
      entry.set_default_cycles(all_hbm * (1 - program.default_return()));
    }
    entry.set_greedy_cycles(all_hbm * (1 - progress.greedy_return.share()));
    if (progress.policy_return.has_value()) {
      entry.set_policy_cycles(all_hbm * (1 - progress.policy_return->share()));
    }
    if (!progress.best_actions.empty()) {
      entry.set_best_cycles(all_hbm * (1 - progress.best_return.share()));
      entry.set_best_player(progress.best_player);
    }
    std::string best =
        run.directory().BestPath(program.program().hardware().name(), program.name());
    if (Exists(best)) entry.set_best_mapping(std::move(best));
  }
  return report;
}

absl::StatusOr<ExitCode> RunTrain(const TrainFlags& flags) {
  RunLimits limits;
  if (!flags.budget.empty()) {
    const absl::StatusOr<absl::Duration> budget = ParseDuration("--budget", flags.budget);
    if (!budget.ok()) return budget.status();
    limits.deadline = SteadyNow() + *budget;
  }
  if (flags.iterations > 0) limits.iterations = flags.iterations;
  limits.stop = InterruptGuard::interrupted;
  std::unique_ptr<MetricsExporter> exporter;
  if (!flags.metrics_address.empty()) {
    absl::StatusOr<std::unique_ptr<MetricsExporter>> listening =
        MetricsExporter::Listen(flags.metrics_address);
    if (!listening.ok()) return StatusAt("--metrics", listening.status());
    exporter = *std::move(listening);
  }
  const absl::StatusOr<std::unique_ptr<TrainingRun>> run = OpenRun(flags);
  if (!run.ok()) return run.status();
  WarnOfGamesThatAreNotStored(**run);
  bool interrupted = false;
  {
    const InterruptGuard guard;
    TrainView view;
    absl::Status status = (*run)->Run(limits, [&](const v1::TrainMetrics& metrics) {
      // The exporter comes first: a reader of the line must find its figures there.
      if (exporter != nullptr) exporter->Update(metrics);
      view.Show(metrics);
    });
    if (!status.ok()) return status;
    interrupted = InterruptGuard::interrupted();
  }
  const v1::TrainReport report = MakeReport(flags, **run, interrupted);
  return flags.json ? PrintJson(report) : PrintText(TrainText(report));
}

// Adds the flags of the programs, the folder and the length of a run.
void AddRunFlags(CLI::App& command, TrainFlags& flags) {
  AddProgramSetFlags(command, "train on", flags.programs);
  command
      .add_option("--output", flags.output,
                  "The folder of the run: its checkpoints, metrics and mappings.")
      ->type_name("RUN")
      ->required();
  command
      .add_option("--budget", flags.budget,
                  "Training ends after this time, such as 10m. By default it ends at Ctrl-C.")
      ->type_name("TIME");
  command
      .add_option(
          "--iterations", flags.iterations,
          "Training ends after this number of iterations. Iterations before a --resume count too.")
      ->type_name("N")
      ->check(WholeNumber(1));
}

// Adds the flags of the settings and of the first weights.
void AddSettingFlags(CLI::App& command, TrainFlags& flags) {
  CLI::Option* resume = command.add_flag("--resume", flags.resume, "Continues the run in RUN.");
  CLI::Option* config =
      command.add_option("--config", flags.config, "The settings of a new run (TrainConfig).")
          ->type_name("FILE");
  command
      .add_option("--set", flags.settings,
                  "Sets one setting of the run, such as search.simulations=8. May be repeated. "
                  "docs/training.md lists all settings.")
      ->type_name("FIELD=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  CLI::Option* network = flags.network_option =
      command
          .add_option("--network", flags.network,
                      "The size of the networks: tiny, small or base. The default is tiny.")
          ->type_name("tiny|small|base")
          ->excludes(config);
  command
      .add_option("--from", flags.from,
                  "The checkpoint whose networks a new run trains further. By default a run "
                  "starts with untrained networks.")
      ->type_name("CHECKPOINT")
      ->excludes(network)
      ->excludes(resume);
}

// Adds the flags that say how the run uses this machine.
void AddMachineFlags(CLI::App& command, TrainFlags& flags) {
  command
      .add_option("--device", flags.device,
                  "The device that trains: cpu, cuda, or auto, which takes a GPU if there is "
                  "one. The default is auto.")
      ->type_name("cpu|cuda|auto");
  flags.demonstrations_option =
      command
          .add_option("--demonstrations", flags.demonstrations,
                      "Solvers get this number of seconds for each program to play games that the "
                      "run learns from first. The default is 0.")
          ->type_name("SECONDS")
          ->check(NumberBetween(0, kMostDemonstrationSeconds));
  flags.threads_option = command
                             .add_option("--threads", flags.threads,
                                         "The number of threads that play and learn. Runs with 1 "
                                         "are repeatable. The default is one thread per core.")
                             ->type_name("N")
                             ->check(WholeNumber(0, kMostThreads));
  flags.seed_option =
      command.add_option("--seed", flags.seed, "The seed of all random choices. The default is 0.")
          ->type_name("N")
          ->check(WholeNumber(0));
  command
      .add_option("--metrics", flags.metrics_address,
                  "Serves metrics for Prometheus at this address, such as 127.0.0.1:9464. By "
                  "default none are served.")
      ->type_name("HOST:PORT");
}

}  // namespace

void AddTrainCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "train");
  const auto flags = std::make_shared<TrainFlags>();
  AddRunFlags(*command, *flags);
  AddSettingFlags(*command, *flags);
  AddMachineFlags(*command, *flags);
  AddJsonFlag(*command, "TrainReport", flags->json);
  command->footer("Ctrl-C saves the run and ends it; --resume goes on.");
  command->callback([flags, &body] { body.run = [flags] { return RunTrain(*flags); }; });
}

}  // namespace mallocmuzero::cli
