// The scripts of deploy/slurm, which are built into the executable.

#ifndef MALLOCMUZERO_CLUSTER_SLURM_SCRIPTS_H_
#define MALLOCMUZERO_CLUSTER_SLURM_SCRIPTS_H_

namespace mallocmuzero {

// Templates, in which @NAME@ stands for a text that the launch fills in.
extern const char* const kSlurmCommon;
extern const char* const kSlurmServers;
extern const char* const kSlurmActors;

// The script that runs a role; it is used as it is.
extern const char* const kSlurmRole;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SLURM_SCRIPTS_H_
