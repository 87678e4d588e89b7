// Checks and inputs of a learner's role before it begins.

#ifndef MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_
#define MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "learner/role/learner_service.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

// InvalidArgument, naming the field, if the config does not fit process `rank` of a learner.
absl::Status CheckLearnerConfig(const v1::ClusterConfig& config, uint32_t rank,
                                const Security& security);

// If `from` names a checkpoint, replaces `network` by the config of its networks. An error names
// the file.
absl::Status TakeNetworkOfCheckpoint(v1::LearnerRole& learner);

// The largest number of best games of a program that any shard keeps.
uint32_t MostBestGames(const v1::ClusterConfig& config);

// The run's folder, which is made if it does not exist. InvalidArgument if its run has other
// networks.
absl::StatusOr<RunDirectory> OpenRunDirectory(const v1::LearnerRole& learner);

// The assignment for actors, and the files that it names. ResourceExhausted if memory is short.
struct RoleAssignment {
  v1::Assignment assignment;
  LearnerService::Files files;
};
absl::StatusOr<RoleAssignment> MakeAssignment(const v1::LearnerRole& learner,
                                              const ProgramSet& programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_
