// The steps that prepare a learner's role: checks, the run's folder, the assignment.

#ifndef MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_
#define MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "learner/checkpoint_store.h"
#include "learner/role/learner_service.h"
#include "learner/role/scored_versions.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/learner.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {

// InvalidArgument names a field that keeps process `rank` of the learner from running.
absl::Status CheckLearnerConfig(const v1::ClusterConfig& config, uint32_t rank,
                                const Security& security);

// Fills in fields that follow from others: `listen_address` is `address` if it is empty, and
// `network` has the sizes of the checkpoint that `from` names. Process 0 takes them from the run in
// run_dir if it goes on with one, and does not read `from` then. The other processes, which may not
// see that folder, do so only if there is no file `from`. Errors name the field and the file.
absl::Status CompleteLearnerConfig(v1::LearnerRole& learner, uint32_t rank);

// The largest number of best games of a program that a shard keeps.
uint32_t MostBestGames(const v1::ClusterConfig& config);

// InvalidArgument if run_dir holds no run although a shard has stored games, and the operator has
// not said that the run is new. Ignores shards that do not answer within seconds.
absl::Status CheckThatRunIsThere(const v1::ClusterConfig& config, const Security& security);

// FailedPrecondition if a learner answers at learner.address: a second one would train the same
// actors and overwrite priorities of the same games. Takes two seconds at most.
absl::Status CheckThatNoLearnerServes(const v1::LearnerRole& learner, const Security& security);

// Opens the run's folder, or makes it if it does not exist. InvalidArgument if the run in it has
// other networks or another value target.
absl::StatusOr<RunDirectory> OpenRunDirectory(const v1::LearnerRole& learner);

// The programs of learner.workloads. Errors name the field and the file.
absl::StatusOr<ProgramSet> LoadWorkloads(const v1::LearnerRole& learner);

// The SHA-256 of all programs.
std::vector<std::string> Fingerprints(const ProgramSet& programs);

// The patience with a candidate. Without evaluated_share there must be no candidate.
ScoredVersionsOptions CandidateOptions(const v1::ClusterConfig& config);

// The warning that the candidate of this step was dropped.
std::string NoScoreWarning(uint64_t step);

// The checkpoints to keep of versions of the weights, with manifests that lack only the fields that
// KeepCheckpoint fills in.
std::vector<ScoredCheckpoint> DescribeScored(const v1::LearnerRole& learner,
                                             const ProgramSet& programs,
                                             const std::vector<ScoredVersion>& versions);

// The assignment for actors and the program files that it names.
struct RoleAssignment {
  v1::Assignment assignment;
  LearnerService::Files files;
};
// ResourceExhausted if there is not enough memory.
absl::StatusOr<RoleAssignment> MakeAssignment(const v1::LearnerRole& learner,
                                              const ProgramSet& programs);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_SET_UP_H_
