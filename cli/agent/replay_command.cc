#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/choice_flag.h"
#include "cli/command_table.h"
#include "cluster/config_mistakes.h"
#include "cluster/config_text.h"
#include "cluster/replay_admin.h"
#include "replay/service/replay_shard.h"
#include "rpc/security.h"

namespace mallocmuzero::cli {
namespace {

struct ReplayFlags {
  ConfigFlags config;
  std::string shard;
  bool list_ids = false;
  bool checkpoint = false;
  std::string drain;
  std::string rate_limit;
};

bool IsAdmin(const ReplayFlags& flags) {
  return flags.list_ids || flags.checkpoint || !flags.drain.empty() || !flags.rate_limit.empty();
}

// The shard that --shard names, or all shards without the flag.
absl::StatusOr<std::vector<v1::ReplayShard>> ChooseShards(const v1::ClusterConfig& config,
                                                          const ReplayFlags& flags) {
  std::vector<v1::ReplayShard> chosen;
  std::vector<std::string> names;
  for (const v1::ReplayShard& shard : config.replay()) {
    names.push_back(shard.name());
    if (flags.shard.empty() || flags.shard == shard.name()) chosen.push_back(shard);
  }
  if (chosen.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--shard: ", flags.config.file, " has no '",
                                                   flags.shard, "'; it has ",
                                                   absl::StrJoin(names, ", ")));
  }
  return chosen;
}

absl::StatusOr<ExitCode> Serve(const v1::ReplayShard& shard,
                               const std::shared_ptr<const Security>& security) {
  return RunRole({.name = shard.name(),
                  .metrics_address = shard.metrics_address(),
                  .security = security,
                  .start = [&](prometheus::Registry& registry) -> absl::StatusOr<RunningRole> {
                    absl::StatusOr<std::unique_ptr<ReplayShard>> started =
                        ReplayShard::Start(shard, security, &registry);
                    if (!started.ok()) return started.status();
                    const std::shared_ptr<ReplayShard> role = *std::move(started);
                    for (const std::string& note : role->notes()) {
                      Log(LogLevel::kInfo, shard.name(), note);
                    }
                    return RunningRole{.description = absl::StrCat("listens on ", role->address()),
                                       .stop =
                                           [role](absl::Duration grace) {
                                             role->Stop(grace);
                                             return absl::OkStatus();
                                           },
                                       .health = [role] { return role->Health(); },
                                       .ready = [role] { return role->Ready(); },
                                       .take_warnings = [role] { return role->TakeWarnings(); }};
                  }});
}

absl::Status Administer(const v1::ReplayShard& shard, const ReplayFlags& flags,
                        const std::shared_ptr<const Security>& security) {
  const ReplayAdmin admin(shard.address(), security);
  if (flags.list_ids) {
    return admin.ListIds([](absl::string_view id, bool stored) {
      std::puts(absl::StrCat(stored ? "stored " : "evicted ", absl::BytesToHexString(id)).c_str());
    });
  }
  if (flags.checkpoint) {
    const absl::StatusOr<v1::CheckpointResponse> copy = admin.Checkpoint();
    if (!copy.ok()) return copy.status();
    std::puts(absl::StrCat(shard.name(), ": ", copy->path()).c_str());
    // Scripts read the path from stdout.
    for (const std::string& path : copy->removed()) {
      Log(LogLevel::kInfo, shard.name(), absl::StrCat("removed the copy ", path));
    }
    return absl::OkStatus();
  }
  if (!flags.drain.empty()) return admin.Drain(flags.drain == "on");
  v1::RateLimit limit;
  ConfigMistakes mistakes;
  ParseConfigText(flags.rate_limit, limit, mistakes);
  MMZ_RETURN_IF_ERROR(mistakes.ToStatus("--rate-limit"));
  return admin.SetRateLimit(limit);
}

absl::StatusOr<ExitCode> RunReplay(const ReplayFlags& flags) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithoutPrograms);
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<std::vector<v1::ReplayShard>> shards = ChooseShards(loaded->config, flags);
  if (!shards.ok()) return shards.status();
  if (!IsAdmin(flags)) {
    if (shards->size() == 1) return Serve(shards->front(), loaded->security);
    return absl::InvalidArgumentError(absl::StrCat("--shard: which one of ", shards->size(),
                                                   " shards of ", flags.config.file, " is it?"));
  }
  absl::Status all = absl::OkStatus();
  for (const v1::ReplayShard& shard : *shards) {
    all.Update(Administer(shard, flags, loaded->security));
  }
  if (!all.ok()) return all;
  return ExitCode::kSuccess;
}

}  // namespace

void AddReplayCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "replay");
  const auto flags = std::make_shared<ReplayFlags>();
  AddConfigOption(*command, flags->config);
  AddLogFormatOption(*command);
  command
      ->add_option("--shard", flags->shard,
                   "The name of the shard. By default the command runs the only shard, or "
                   "administers all shards.")
      ->type_name("NAME");
  auto* list =
      command->add_flag("--list-ids", flags->list_ids,
                        "Prints the id of every trajectory that the shard stores or has evicted.");
  auto* checkpoint =
      command->add_flag("--checkpoint", flags->checkpoint,
                        "Writes a consistent copy of the data beside them and prints its path.");
  auto* drain = command->add_option("--drain", flags->drain,
                                    "With on the shard refuses inserts from now on and still "
                                    "serves draws. With off it accepts inserts again.");
  TakeOneOf(*drain, {"on", "off"});
  auto* limit =
      command
          ->add_option("--rate-limit", flags->rate_limit,
                       "Sets the rate limiter (RateLimit, text) until the shard starts again.")
          ->type_name("TEXT");
  list->excludes(checkpoint, drain, limit);
  checkpoint->excludes(drain, limit);
  drain->excludes(limit);
  command->callback([flags, &body] { body.run = [flags] { return RunReplay(*flags); }; });
}

}  // namespace mallocmuzero::cli
