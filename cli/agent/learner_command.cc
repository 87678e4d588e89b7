#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "learner/role/cuda_device.h"
#include "learner/role/learner_role.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

struct LearnerFlags {
  ConfigFlags config;
  uint32_t rank = 0;
  bool new_run = false;
  bool fail_when_stopped = false;
};

absl::StatusOr<ExitCode> RunLearner(const LearnerFlags& flags) {
  absl::StatusOr<LoadedConfig> loaded = LoadClusterConfig(flags.config, ConfigScope::kWithPrograms);
  if (!loaded.ok()) return loaded.status();
  if (flags.new_run) loaded->config.mutable_learner()->set_new_run(true);
  const v1::LearnerRole& learner = loaded->config.learner();
  if (flags.rank >= learner.processes()) {
    return absl::InvalidArgumentError(absl::StrCat("--rank: ", flags.rank, ": ", flags.config.file,
                                                   " has ", learner.processes(),
                                                   " learner processes, counted from 0"));
  }
  absl::Status device = ChooseCudaDevice(learner, flags.rank);
  if (!device.ok()) return device;
  const absl::StatusOr<std::string> metrics_address =
      NthAddress(learner.metrics_address(), flags.rank, "--rank", "learner.metrics_address");
  if (!metrics_address.ok()) return metrics_address.status();
  return RunRole(
      {.name = flags.rank == 0 ? learner.name() : absl::StrCat(learner.name(), ".", flags.rank),
       .metrics_address = *metrics_address,
       .security = loaded->security,
       .start = [&](prometheus::Registry& registry) -> absl::StatusOr<RunningRole> {
         absl::StatusOr<std::unique_ptr<LearnerRole>> started =
             LearnerRole::Start(loaded->config, flags.rank, loaded->security, registry);
         if (!started.ok()) return started.status();
         const std::shared_ptr<LearnerRole> role = *std::move(started);
         for (const std::string& note : role->notes()) {
           Log(LogLevel::kWarning, learner.name(), note);
         }
         return RunningRole{
             .description = absl::StrCat(
                 "step ", role->step(),
                 role->address().empty() ? "" : absl::StrCat(", listens on ", role->address())),
             .status = [role] { return role->status(); },
             .stop = [role](absl::Duration grace) { return role->Stop(grace); },
             .health = [role] { return role->health(); },
             // It has its run and serves weights as soon as it has started.
             .ready = [role] { return role->status(); },
             .peers = [role] { return role->peers(); },
             .take_warnings = [role] { return role->TakeWarnings(); }};
       },
       .fails_when_stopped = flags.fail_when_stopped,
       .seconds_to_end = LearnerSecondsToEnd(learner)});
}

}  // namespace

void AddLearnerCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "learner");
  const auto flags = std::make_shared<LearnerFlags>();
  AddConfigOption(*command, flags->config);
  AddLogFormatOption(*command);
  command
      ->add_option("--rank", flags->rank,
                   "The number of this process among learner.processes. The default is 0.")
      ->type_name("N")
      ->check(WholeNumber(0, std::numeric_limits<uint32_t>::max()));
  command->add_flag("--new-run", flags->new_run,
                    "Begins a new run although the shards hold games of another one.");
  command->add_flag("--fail-when-stopped", flags->fail_when_stopped,
                    "Exits with code 1 also after SIGTERM, so that a supervisor that starts only "
                    "failed processes again starts this one.");
  command->callback([flags, &body] { body.run = [flags] { return RunLearner(*flags); }; });
}

}  // namespace mallocmuzero::cli
