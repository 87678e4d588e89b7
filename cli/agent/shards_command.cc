#include <memory>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/command_table.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "cluster/replay_admin.h"
#include "cluster/shard_move.h"
#include "mallocmuzero/v1/shards.pb.h"
#include "replay/client/membership_client.h"
#include "replay/client/shard_roster.h"
#include "rpc/status.h"

namespace mallocmuzero::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);

// Progress is told each time this number of games has been moved.
constexpr uint64_t kProgressGames = 10'000;

struct ShardsFlags {
  ConfigFlags config;
  std::string add;
  std::string remove;
  bool lost = false;
  bool json = false;
};

// Asks the learner for the list, or for a change of the list.
class Members {
 public:
  explicit Members(const LoadedConfig& loaded) : loaded_(loaded) {}

  absl::StatusOr<v1::ShardRoster> Get() const {
    return WithLearner(GetShards(address(), *loaded_.security, kTimeout));
  }
  absl::StatusOr<v1::ShardRoster> Change(const v1::ChangeShardsRequest& request) const {
    return WithLearner(ChangeShards(address(), *loaded_.security, request, kTimeout));
  }

 private:
  const std::string& address() const { return loaded_.config.learner().address(); }

  absl::StatusOr<v1::ShardRoster> WithLearner(absl::StatusOr<v1::ShardRoster> answer) const {
    if (answer.ok()) return answer;
    return StatusOfCall(absl::StrCat("the learner on ", address()), answer.status());
  }

  const LoadedConfig& loaded_;
};

std::string RosterText(const v1::ShardRoster& roster) {
  Table table({{"shard"}, {"address"}, {"state"}, {"heirs"}});
  for (const v1::ShardRoster::Shard& shard : roster.shards()) {
    table.AddRow({shard.name(), shard.address(),
                  absl::AsciiStrToLower(v1::ShardRoster::State_Name(shard.state())),
                  absl::StrJoin(shard.heirs(), ", ")});
  }
  return table.ToText();
}

absl::Status Add(const ShardsFlags& flags, const LoadedConfig& loaded, const Members& members) {
  const auto section = absl::c_find_if(loaded.config.replay(), [&](const v1::ReplayShard& shard) {
    return shard.name() == flags.add;
  });
  if (section == loaded.config.replay().end()) {
    const auto add_name = [](std::string* text, const v1::ReplayShard& shard) {
      text->append(shard.name());
    };
    return absl::InvalidArgumentError(absl::StrCat(
        "--add: ", flags.config.file, " has no section replay with the name '", flags.add,
        "'; it has ", absl::StrJoin(loaded.config.replay(), ", ", add_name)));
  }
  const absl::StatusOr<v1::ReplayStats> stats =
      ReplayAdmin(section->address(), loaded.security).Stats();
  if (!stats.ok()) {
    return absl::Status(stats.status().code(),
                        absl::StrCat("--add: ", flags.add, ": ", stats.status().message(),
                                     "; start the shard first"));
  }
  if (stats->retired()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "--add: ", flags.add, ": its data_dir is of a shard that was removed from the cluster"));
  }
  v1::ChangeShardsRequest request;
  request.mutable_add()->set_name(section->name());
  request.mutable_add()->set_address(section->address());
  return members.Change(request).status();
}

void Report(const std::string& name, const MovedGames& moved) {
  Log(LogLevel::kInfo, "shards",
      absl::StrCat(name, ": ", moved.games, " games and ", moved.evicted_ids,
                   " ids of evicted games moved"));
  if (moved.damaged > 0) {
    Log(LogLevel::kWarning, "shards",
        absl::StrCat(name, ": ", moved.damaged, " games are lost: the shard cannot read them"));
  }
  if (moved.refused > 0) {
    Log(LogLevel::kWarning, "shards",
        absl::StrCat(name, ": ", moved.refused, " games are lost: ", moved.why_refused));
  }
}

absl::Status Remove(const ShardsFlags& flags, const LoadedConfig& loaded, const Members& members) {
  v1::ChangeShardsRequest request;
  request.set_begin_removal(flags.remove);
  const absl::StatusOr<v1::ShardRoster> roster = members.Change(request);
  if (!roster.ok()) return roster.status();
  const v1::ShardRoster::Shard* shard = LatestShard(*roster, flags.remove);
  if (shard == nullptr) return absl::InternalError("the learner's list lacks the shard");
  if (shard->state() == v1::ShardRoster::LEFT) return absl::OkStatus();
  if (!flags.lost) {
    uint64_t told = 0;
    const absl::StatusOr<MovedGames> moved =
        MoveGames(*roster, flags.remove, loaded.security, [&](const MovedGames& now) {
          if (now.games < told + kProgressGames) return;
          told = now.games;
          Log(LogLevel::kInfo, "shards", absl::StrCat(flags.remove, ": ", told, " games moved"));
        });
    if (!moved.ok()) {
      return absl::Status(moved.status().code(),
                          absl::StrCat(moved.status().message(),
                                       "; the shard stays in the state leaving: run the "
                                       "command again, or give up its games with --lost"));
    }
    Report(flags.remove, *moved);
  }
  request.set_end_removal(flags.remove);
  return members.Change(request).status();
}

absl::StatusOr<ExitCode> RunShards(const ShardsFlags& flags) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithoutPrograms);
  if (!loaded.ok()) return loaded.status();
  const Members members(*loaded);
  if (!flags.add.empty()) MMZ_RETURN_IF_ERROR(Add(flags, *loaded, members));
  if (!flags.remove.empty()) MMZ_RETURN_IF_ERROR(Remove(flags, *loaded, members));
  absl::StatusOr<v1::ShardRoster> roster = members.Get();
  if (!roster.ok()) return roster.status();
  roster->clear_header();
  return flags.json ? PrintJson(*roster) : PrintText(RosterText(*roster));
}

}  // namespace

void AddShardsCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "shards");
  const auto flags = std::make_shared<ShardsFlags>();
  AddConfigOption(*command, flags->config);
  CLI::Option* add =
      command
          ->add_option(
              "--add", flags->add,
              "Adds the shard with this name, which FILE describes and which runs already. "
              "The learner and all actors follow within seconds.")
          ->type_name("NAME");
  CLI::Option* remove =
      command
          ->add_option("--remove", flags->remove,
                       "Removes the shard with this name: moves its games to the other shards, "
                       "whose disks have them before the command ends. May be run again if it was "
                       "interrupted.")
          ->type_name("NAME");
  command
      ->add_flag(
          "--lost", flags->lost,
          "With --remove: gives up the games of the shard, because its machine or its disk is "
          "lost.")
      ->needs(remove);
  add->excludes(remove);
  AddJsonFlag(*command, "ShardRoster", flags->json);
  command->footer("Changes need the administrators' token (security.admin_token_file).");
  command->callback([flags, &body] { body.run = [flags] { return RunShards(*flags); }; });
}

}  // namespace mallocmuzero::cli
