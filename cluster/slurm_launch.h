// Makes the files with which a cluster runs under Slurm: two batch scripts, the scripts of the
// roles, and the configuration.

#ifndef MALLOCMUZERO_CLUSTER_SLURM_LAUNCH_H_
#define MALLOCMUZERO_CLUSTER_SLURM_LAUNCH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/slurm.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

struct SlurmLaunch {
  struct File {
    std::string path;
    std::string text;
    bool executable = false;
  };

  // All files are in a folder of their own below the shared folder.
  std::vector<File> files;

  // Folders that roles write to.
  std::vector<std::string> folders;

  std::string servers_script;
  std::string actors_script;  // empty: the configuration has no actors

  // Files for the ids of the two jobs.
  std::string servers_job;
  std::string actors_job;

  // The file for a token of administrators, which the caller makes. Without the token nobody may
  // copy a shard, because no caller comes over loopback. Empty: the configuration names a file.
  std::string admin_token;
};

// Makes the files. `config` and `site` must have their defaults and absolute paths. Roles start
// `executable` unless `site` has another command. They look for Slurm's commands in
// `slurm_commands`, too, unless it is empty. InvalidArgument if the configuration cannot run
// on several machines, or if a file with a secret is readable for others than its owner.
absl::StatusOr<SlurmLaunch> MakeSlurmLaunch(const v1::ClusterConfig& config,
                                            const v1::SlurmSite& site, const Security& security,
                                            const std::string& executable,
                                            const std::string& slurm_commands);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SLURM_LAUNCH_H_
