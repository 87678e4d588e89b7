#include "cluster/slurm_launch.h"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "cluster/config_template.h"
#include "cluster/slurm_scripts.h"
#include "rpc/host_port.h"

namespace mallocmuzero {
namespace {

using Replacements = std::vector<std::pair<std::string, std::string>>;

// A text that a shell reads as one word.
std::string Quote(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The port of host:port as text; an empty address gives ''.
std::string PortOf(const std::string& address) {
  const std::optional<HostPort> parsed = ParseHostPort(address);
  return parsed.has_value() ? absl::StrCat(parsed->port) : "''";
}

// Options of a process in the form of sbatch and srun, without GPUs.
std::vector<std::string> PlaceOptions(const v1::SlurmResources& resources) {
  std::vector<std::string> options;
  if (!resources.partition().empty()) {
    options.push_back(absl::StrCat("--partition=", resources.partition()));
  }
  if (!resources.account().empty()) {
    options.push_back(absl::StrCat("--account=", resources.account()));
  }
  if (!resources.memory_per_cpu().empty()) {
    options.push_back(absl::StrCat("--mem-per-cpu=", resources.memory_per_cpu()));
  }
  return options;
}

// The lines of a batch script that ask for the resources.
std::string BatchLines(const v1::SlurmResources& resources) {
  std::vector<std::string> options = PlaceOptions(resources);
  options.insert(options.begin(), absl::StrCat("--cpus-per-task=", resources.cpus()));
  if (resources.gpus() > 0) {
    options.push_back(absl::StrCat("--gpus-per-task=", resources.gpus()));
  }
  options.insert(options.end(), resources.options().begin(), resources.options().end());
  return absl::StrCat("#SBATCH ", absl::StrJoin(options, "\n#SBATCH "));
}

// A job that copies a shard's data needs little of a node.
std::string RescueOptions(const v1::SlurmResources& resources) {
  std::vector<std::string> options = PlaceOptions(resources);
  options.insert(options.end(), resources.options().begin(), resources.options().end());
  options.push_back("--cpus-per-task=1");
  return absl::StrJoin(options, " ", [](std::string* out, const std::string& option) {
    absl::StrAppend(out, Quote(option));
  });
}

absl::Status CheckSecret(const std::string& field, const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("security.", field, ": no file ", path));
  }
  if ((facts.st_mode & 077) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrFormat("security.%s: %s has mode %03o, so that others can read the secret on every "
                      "node; mode 600 expected",
                      field, path, facts.st_mode & 0777));
}

// Checks that the configuration suits roles on several machines of other users.
absl::Status Check(const v1::ClusterConfig& config, const Security& security) {
  for (const v1::ReplayShard& shard : config.replay()) {
    for (const char* taken : {"learner", "rendezvous", "actor", "reanalyse"}) {
      if (shard.name() != taken) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("replay.name: '", taken, "' is the name of another role; another expected"));
    }
  }
  MMZ_RETURN_IF_ERROR(CheckSecret("key_file", config.security().key_file()));
  MMZ_RETURN_IF_ERROR(CheckSecret("token_file", config.security().token_file()));
  MMZ_RETURN_IF_ERROR(CheckSecret("admin_token_file", config.security().admin_token_file()));
  // Roles listen on the addresses of their nodes, whatever host the configuration names.
  constexpr char kSomeNode[] = "node:7400";
  MMZ_RETURN_IF_ERROR(security.CheckListenAddress(kSomeNode));
  bool metrics = !config.learner().metrics_address().empty() ||
                 !config.actor().metrics_address().empty() ||
                 !config.reanalyse().metrics_address().empty();
  for (const v1::ReplayShard& shard : config.replay()) metrics |= !shard.metrics_address().empty();
  return metrics ? security.MetricsAccess(kSomeNode).status() : absl::OkStatus();
}

// The texts that stand for the marks of the templates.
Replacements MakeReplacements(const v1::ClusterConfig& config, const v1::SlurmSite& site,
                              const std::string& executable, const std::string& slurm_commands) {
  std::vector<std::string> names;
  std::vector<std::string> ports;
  std::vector<std::string> metrics_ports;
  for (const v1::ReplayShard& shard : config.replay()) {
    names.push_back(shard.name());
    ports.push_back(PortOf(shard.address()));
    metrics_ports.push_back(PortOf(shard.metrics_address()));
  }
  std::vector<std::string> command = {Quote(executable)};
  if (site.command_size() > 0) command.clear();
  for (const std::string& word : site.command()) command.push_back(Quote(word));
  std::string setup;
  for (const std::string& line : site.setup()) absl::StrAppend(&setup, "  ", line, "\n");
  const uint32_t actors = config.actor().count() + config.reanalyse().count();
  const v1::LearnerRole& learner = config.learner();
  return {
      {"@NAME@", site.name()},
      {"@SHARED@", site.shared_dir()},
      {"@SHARED_LOGS@", absl::StrCat(site.shared_dir(), "/logs")},
      {"@RUN_DIR@", Quote(learner.run_dir())},
      {"@LOCAL@", site.local_dir()},
      {"@COMMAND@", absl::StrJoin(command, " ")},
      {"@HOST_COMMAND@", site.host_command()},
      {"@SETUP@\n", setup},
      {"@SHARDS@", absl::StrJoin(names, " ")},
      {"@SHARD_PORTS@", absl::StrJoin(ports, " ")},
      {"@SHARD_METRICS_PORTS@", absl::StrJoin(metrics_ports, " ")},
      {"@LEARNER_PORT@", PortOf(learner.address())},
      {"@RENDEZVOUS_PORT@", learner.processes() > 1 ? PortOf(learner.rendezvous_address()) : "''"},
      {"@LEARNER_METRICS_PORT@", PortOf(learner.metrics_address())},
      {"@ACTOR_METRICS_PORT@", PortOf(config.actor().metrics_address())},
      {"@REANALYSE_METRICS_PORT@", PortOf(config.reanalyse().metrics_address())},
      {"@SHARDS_ARE_LOCAL@", site.local_shards() ? "1" : "0"},
      {"@COPY_SECONDS@", absl::StrCat(site.copy_seconds())},
      {"@LOST_NODE_SECONDS@", absl::StrCat(site.lost_node_seconds())},
      {"@GOES_ON@", site.continue_after_time_limit() ? "1" : "0"},
      {"@RESCUE_OPTIONS@", RescueOptions(site.replay())},
      {"@SLURM_COMMANDS@", Quote(slurm_commands)},
      {"@SHARD_COUNT@", absl::StrCat(config.replay_size())},
      {"@PROCESSES@", absl::StrCat(learner.processes())},
      {"@ACTORS@", absl::StrCat(config.actor().count())},
      {"@LAST_ACTOR@", absl::StrCat(actors == 0 ? 0 : actors - 1)},
      {"@TIME@", site.time_limit()},
      {"@DRAIN_SECONDS@", absl::StrCat(site.drain_seconds())},
      {"@REPLAY_CPUS@", absl::StrCat(site.replay().cpus())},
      {"@LEARNER_CPUS@", absl::StrCat(site.learner().cpus())},
      {"@REPLAY_OPTIONS@", BatchLines(site.replay())},
      {"@LEARNER_OPTIONS@", BatchLines(site.learner())},
      {"@ACTOR_OPTIONS@", BatchLines(site.actor())},
  };
}

}  // namespace

absl::StatusOr<SlurmLaunch> MakeSlurmLaunch(const v1::ClusterConfig& config,
                                            const v1::SlurmSite& site, const Security& security,
                                            const std::string& executable,
                                            const std::string& slurm_commands) {
  MMZ_RETURN_IF_ERROR(Check(config, security));
  const Replacements replacements = MakeReplacements(config, site, executable, slurm_commands);
  const std::string& shared = site.shared_dir();
  const std::string folder = absl::StrCat(shared, "/launch");
  SlurmLaunch launch = {.servers_script = folder + "/servers.sbatch",
                        .servers_job = folder + "/servers.job",
                        .actors_job = folder + "/actors.job"};
  v1::ClusterConfig complete = config;
  if (complete.security().admin_token_file().empty()) {
    launch.admin_token = folder + "/admin-token";
    complete.mutable_security()->set_admin_token_file(launch.admin_token);
  }
  launch.files = {
      {launch.servers_script, absl::StrReplaceAll(kSlurmServers, replacements)},
      {folder + "/common.sh", absl::StrReplaceAll(kSlurmCommon, replacements)},
      {folder + "/role.sh", kSlurmRole, /*executable=*/true},
      {folder + "/cluster.textproto.in", ConfigTemplate(complete, site.local_shards(), shared)}};
  if (config.actor().count() + config.reanalyse().count() > 0) {
    launch.actors_script = folder + "/actors.sbatch";
    launch.files.push_back({launch.actors_script, absl::StrReplaceAll(kSlurmActors, replacements)});
  }
  for (const char* name :
       {"addresses", "configs", "launch", "logs", "shards", "spool", "targets"}) {
    launch.folders.push_back(absl::StrCat(shared, "/", name));
  }
  return launch;
}

}  // namespace mallocmuzero
