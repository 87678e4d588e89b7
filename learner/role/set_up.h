// What a learner's role needs before it can begin.

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

// InvalidArgument, naming the field, if process `rank` of such a learner cannot be.
absl::Status CheckLearnerConfig(const v1::ClusterConfig& config, uint32_t rank,
                                const Security& security);

// Where networks of a checkpoint are to be trained further (`from`): they take the place of
// `network`. An error names the file.
absl::Status TakeNetworkOfCheckpoint(v1::LearnerRole& learner);

// Of all shards, the most best games that one keeps of a program.
uint32_t MostBestGames(const v1::ClusterConfig& config);

// InvalidArgument if run_dir holds no run although a shard has stored games, and the operator has
// not said that the run is new. Shards that do not answer within seconds are not asked again.
absl::Status CheckThatRunIsThere(const v1::ClusterConfig& config, const Security& security);

// The run's folder, made if it is not there. InvalidArgument if the run in it has other networks.
absl::StatusOr<RunDirectory> OpenRunDirectory(const v1::LearnerRole& learner);

// What actors are told to play, and the files it names. ResourceExhausted for lack of memory.
struct RoleAssignment {
  v1::Assignment assignment;
  LearnerService::Files files;
};
absl::StatusOr<RoleAssignment> MakeAssignment(const v1::LearnerRole& learner,
                                              const ProgramSet& programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_
