#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/child_process.h"
#include "base/file_io.h"
#include "base/status_macros.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_role.h"
#include "cli/agent_executable.h"
#include "cli/command_table.h"
#include "cluster/slurm_launch.h"
#include "cluster/slurm_site.h"

namespace mallocmuzero::cli {
namespace {

struct SlurmFlags {
  ConfigFlags config;
  std::string site;
  bool dry_run = false;
};

// Runs a command of Slurm and returns its output, or Unavailable with what it printed.
absl::StatusOr<std::string> RunSlurm(const std::vector<std::string>& command) {
  std::vector<std::string> whole = {"/usr/bin/env"};
  whole.insert(whole.end(), command.begin(), command.end());
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(whole);
  if (!child.ok()) return child.status();
  std::string output;
  std::string how;
  while (!(*child)->HasEnded(how)) {
    pollfd events[] = {{.fd = (*child)->output_fd(), .events = POLLIN, .revents = 0},
                       {.fd = (*child)->exit_fd(), .events = POLLIN, .revents = 0}};
    poll(events, std::size(events), -1);
    output += (*child)->ReadOutput();
  }
  output += (*child)->ReadOutput();
  absl::StripAsciiWhitespace(&output);
  if ((*child)->exit_code() == 0) return output;
  return absl::UnavailableError(absl::StrCat(absl::StrJoin(command, " "), ": ", output));
}

// The folder of Slurm's commands, from PATH; "" if it is not there.
std::string SlurmCommands() {
  const char* path = std::getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const std::string command = absl::StrCat(folder, "/sbatch");
    if (command.front() == '/' && folder.size() > 1 && access(command.c_str(), X_OK) == 0) {
      return std::string(folder);
    }
  }
  return "";
}

// Whether a line of `squeue --format=%i` is about the job: "JOB", "JOB+0" for a part of a
// heterogeneous job, or "JOB_7" and "JOB_[0-7]" for tasks of an array.
bool IsOfJob(absl::string_view line, const std::string& job) {
  line = absl::StripAsciiWhitespace(line);
  return absl::ConsumePrefix(&line, job) &&
         (line.empty() || line.front() == '+' || line.front() == '_');
}

// The job in the file if Slurm still has it; an empty text otherwise. Without an answer of Slurm
// it returns an error.
absl::StatusOr<std::string> QueuedJob(const std::string& file) {
  const absl::StatusOr<std::string> id = ReadFile(file);
  if (absl::IsNotFound(id.status())) return "";
  if (!id.ok()) return id.status();
  const std::string job(absl::StripAsciiWhitespace(*id));
  // With --jobs, squeue fails for an id that Slurm no longer knows as it does without an answer.
  const absl::StatusOr<std::string> queued = RunSlurm({"squeue", "--noheader", "--format=%i"});
  if (!queued.ok()) return queued.status();
  const std::vector<absl::string_view> lines = absl::StrSplit(*queued, '\n');
  const bool is_queued = std::any_of(lines.begin(), lines.end(),
                                     [&](absl::string_view line) { return IsOfJob(line, job); });
  return is_queued ? job : "";
}

// The job's id in the output of sbatch, which is "ID" or "ID;CLUSTER" on a line. A site's sbatch
// may write others.
absl::StatusOr<std::string> JobId(const std::string& printed) {
  for (const absl::string_view line : absl::StrSplit(printed, '\n')) {
    const absl::string_view id = absl::StripAsciiWhitespace(line.substr(0, line.find(';')));
    if (!id.empty() && std::all_of(id.begin(), id.end(), absl::ascii_isdigit)) {
      return std::string(id);
    }
  }
  return absl::UnavailableError(
      absl::StrCat("sbatch: a job's id expected, found '", printed,
                   "'; a job may be queued, which squeue shows and scancel ends"));
}

// Ends a job that this command would forget, because of `error`, and returns the error.
absl::Status CancelForgotten(const std::string& job, const absl::Status& error) {
  const bool ended = RunSlurm({"scancel", job}).ok();
  return absl::Status(error.code(),
                      absl::StrCat(error.message(), "; job ", job,
                                   ended ? " was cancelled" : " may be queued: scancel it"));
}

// Submits one script and writes the job's id to `file`. If it cannot write there, it cancels the
// job.
absl::StatusOr<std::string> Submit(const std::vector<std::string>& command,
                                   const std::string& file) {
  const absl::StatusOr<std::string> printed = RunSlurm(command);
  if (!printed.ok()) return printed.status();
  absl::StatusOr<std::string> id = JobId(*printed);
  if (!id.ok()) return id;
  const absl::Status written = WriteFileAtomically(file, absl::StrCat(*id, "\n"));
  if (!written.ok()) return CancelForgotten(*id, written);
  return id;
}

std::vector<std::string> ServersCommand(const SlurmLaunch& launch) {
  return {"sbatch", "--parsable", launch.servers_script};
}

// Actors wait for the servers' first start.
std::vector<std::string> ActorsCommand(const SlurmLaunch& launch, const std::string& servers) {
  return {"sbatch", "--parsable", "--dependency=after:" + servers, launch.actors_script};
}

void PrintDryRun(const SlurmLaunch& launch) {
  for (const SlurmLaunch::File& file : launch.files) {
    std::printf("### %s\n\n%s\n", file.path.c_str(), file.text.c_str());
  }
  std::printf("### What would be run\n\n%s\n", absl::StrJoin(ServersCommand(launch), " ").c_str());
  if (!launch.actors_script.empty()) {
    std::puts(absl::StrJoin(ActorsCommand(launch, "SERVERS"), " ").c_str());
  }
}

// Writes a new token, which only the owner can read: the folder of the file is theirs alone.
absl::Status WriteToken(const std::string& path) {
  constexpr ssize_t kBytes = 32;
  std::string bytes(kBytes, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != kBytes) {
    return absl::InternalError(absl::StrCat(path, ": no random numbers for a token"));
  }
  MMZ_RETURN_IF_ERROR(WriteFileAtomically(path, absl::BytesToHexString(bytes) + "\n"));
  if (chmod(path.c_str(), 0600) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(path, ": cannot keep others from reading it"));
}

// Makes the folder and keeps others from writing to it: they could replace the scripts that every
// job of the owner runs.
absl::Status MakeOwnFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  struct stat facts = {};
  if (error || stat(folder.c_str(), &facts) != 0) {
    return absl::InternalError(absl::StrCat(folder, ": cannot make this folder"));
  }
  if (facts.st_uid != geteuid() && facts.st_uid != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder,
                     ": belongs to another user, who could replace the scripts; a folder of yours "
                     "expected"));
  }
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if ((facts.st_mode & kOthersWrite) == 0) return absl::OkStatus();
  if (chmod(folder.c_str(), facts.st_mode & 07777 & ~kOthersWrite) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(folder, ": cannot keep others from writing to it"));
}

absl::Status WriteFiles(const SlurmLaunch& launch) {
  for (const std::string& folder : launch.folders) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error) {
      std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    }
    if (error) return absl::InternalError(absl::StrCat(folder, ": ", error.message()));
  }
  for (const SlurmLaunch::File& file : launch.files) {
    MMZ_RETURN_IF_ERROR(WriteFileAtomically(file.path, file.text));
    if (file.executable && chmod(file.path.c_str(), 0700) != 0) {
      return absl::InternalError(absl::StrCat(file.path, ": cannot make it executable"));
    }
  }
  return launch.admin_token.empty() ? absl::OkStatus() : WriteToken(launch.admin_token);
}

absl::StatusOr<ExitCode> SubmitAll(const SlurmLaunch& launch, const v1::SlurmSite& site) {
  for (const std::string& file : {launch.servers_job, launch.actors_job}) {
    const absl::StatusOr<std::string> job = QueuedJob(file);
    if (!job.ok()) return job.status();
    if (job->empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(site.shared_dir(), ": job ", *job,
                     " of this folder is still queued; scancel it, or choose another shared_dir"));
  }
  MMZ_RETURN_IF_ERROR(MakeOwnFolder(site.shared_dir()));
  MMZ_RETURN_IF_ERROR(WriteFiles(launch));
  const absl::StatusOr<std::string> servers = Submit(ServersCommand(launch), launch.servers_job);
  if (!servers.ok()) return servers.status();
  std::string jobs = *servers;
  if (!launch.actors_script.empty()) {
    const absl::StatusOr<std::string> actors =
        Submit(ActorsCommand(launch, *servers), launch.actors_job);
    if (!actors.ok()) {
      RunSlurm({"scancel", *servers}).IgnoreError();
      return actors.status();
    }
    absl::StrAppend(&jobs, " ", *actors);
  }
  std::printf(
      "jobs   %s\nlogs   %s/logs\nstatus mallocmuzero status --config %s/cluster.textproto\n"
      "stop   scancel %s\n",
      jobs.c_str(), site.shared_dir().c_str(), site.shared_dir().c_str(), jobs.c_str());
  return ExitCode::kSuccess;
}

absl::StatusOr<ExitCode> RunLaunchSlurm(const SlurmFlags& flags) {
  const absl::StatusOr<LoadedConfig> loaded =
      LoadClusterConfig(flags.config, ConfigScope::kWithPrograms);
  if (!loaded.ok()) return loaded.status();
  const absl::StatusOr<v1::SlurmSite> site =
      flags.site.empty() ? ParseSlurmSite("", flags.config.file) : ReadSlurmSite(flags.site);
  if (!site.ok()) return TellMistakes(flags.site, site.status());
  const absl::StatusOr<std::filesystem::path> binary = OwnBinary();
  if (!binary.ok()) return binary.status();
  const absl::StatusOr<SlurmLaunch> launch =
      MakeSlurmLaunch(loaded->config, *site, *loaded->security, binary->string(), SlurmCommands());
  if (!launch.ok()) return launch.status();
  if (flags.dry_run) {
    PrintDryRun(*launch);
    return ExitCode::kSuccess;
  }
  return SubmitAll(*launch, *site);
}

}  // namespace

void AddLaunchSlurmCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "slurm");
  const auto flags = std::make_shared<SlurmFlags>();
  AddConfigOption(*command, flags->config);
  command
      ->add_option("--site", flags->site,
                   "Partitions, resources, folders and time limits (SlurmSite, text). Without it "
                   "everything has its default.")
      ->type_name("FILE");
  command->add_flag("--dry-run", flags->dry_run,
                    "Prints the scripts and the commands, and submits nothing.");
  command->footer(
      "Submits the replay shards and the learner as one heterogeneous job and the actors as a job "
      "array. docs/slurm.md explains both.");
  command->callback([flags, &body] { body.run = [flags] { return RunLaunchSlurm(*flags); }; });
}

}  // namespace mallocmuzero::cli
