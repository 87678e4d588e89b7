#include "learner/role/set_up.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/check_field.h"
#include "base/compression.h"
#include "base/exists.h"
#include "base/message_file.h"
#include "base/sha256.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "env/program_files.h"
#include "env/program_rules.h"
#include "learner/learner.h"
#include "learner/learner_checks.h"
#include "mallocmuzero/v1/replay.grpc.pb.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "rpc/channel.h"
#include "rpc/host_port.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

// The time in which one shard must tell what it holds, and the time for all shards together.
constexpr absl::Duration kAskShard = absl::Seconds(2);
constexpr absl::Duration kAskShards = absl::Seconds(5);

// The time in which another learner must answer to be noticed.
constexpr absl::Duration kAskLearner = absl::Seconds(2);

v1::TrainConfig MakeTrainConfig(const v1::LearnerRole& learner) {
  v1::TrainConfig config;
  *config.mutable_network() = learner.network();
  *config.mutable_search() = learner.search();
  config.mutable_self_play()->set_explored_decisions(learner.explored_decisions());
  config.mutable_self_play()->set_searched_share(learner.searched_share());
  config.mutable_self_play()->set_window_share(learner.window_share());
  config.mutable_replay()->set_importance_exponent(learner.importance_exponent());
  *config.mutable_learner() = learner.options();
  config.set_demonstration_seconds(learner.demonstration_seconds());
  config.set_seed(learner.seed());
  return config;
}

v1::CheckpointManifest MakeManifest(const v1::LearnerRole& learner, const ProgramSet& programs,
                                    const ScoredVersion& version) {
  v1::CheckpointManifest manifest;
  manifest.set_step(version.weights->notice.step());
  double sum = 0;
  for (size_t p = 0; p < programs.size(); ++p) {
    v1::CheckpointManifest::Score& score = *manifest.add_scores();
    score.set_program(programs[p].name());
    score.set_chip(programs[p].program().hardware().name());
    score.set_program_sha256(absl::BytesToHexString(programs[p].sha256()));
    score.set_games(version.scores[p].games);
    score.set_mean_return(version.scores[p].mean_return);
    sum += version.scores[p].mean_return;
  }
  manifest.set_score(sum / static_cast<double>(programs.size()));
  *manifest.mutable_config() = MakeTrainConfig(learner);
  manifest.set_rules_version(kGameRulesVersion);
  const absl::StatusOr<Checkpoint> checkpoint =
      ParseCheckpoint(*version.weights->bytes, "published weights");
  if (checkpoint.ok()) manifest.set_git_commit(checkpoint->git_commit);
  return manifest;
}

}  // namespace

absl::Status CheckLearnerConfig(const v1::ClusterConfig& config, uint32_t rank,
                                const Security& security) {
  const v1::LearnerRole& learner = config.learner();
  MMZ_RETURN_IF_ERROR(CheckLearnerRole(learner));
  MMZ_RETURN_IF_ERROR(
      CheckField(learner.workloads_size() > 0, "learner.workloads", "a program or a folder"));
  MMZ_RETURN_IF_ERROR(CheckField(config.replay_size() > 0, "replay", "one shard or more"));
  MMZ_RETURN_IF_ERROR(CheckField(rank < learner.processes(), "learner.processes",
                                 absl::StrCat("more than ", rank)));
  // ChooseCudaDevice has hidden all other devices.
  if (rank < learner.devices_size() && !HasCuda()) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.devices[", rank, "]: ", learner.devices(rank),
                     " given, but LibTorch finds no such CUDA device here"));
  }
  if (learner.processes() == 1) return absl::OkStatus();
  return security.CheckListenAddress(learner.rendezvous_address());
}

absl::Status CompleteLearnerConfig(v1::LearnerRole& learner, uint32_t rank) {
  if (learner.listen_address().empty()) learner.set_listen_address(learner.address());
  if (learner.from().empty()) return absl::OkStatus();
  const absl::StatusOr<RunDirectory> run = RunDirectory::Open(learner.run_dir());
  if (run.ok() && run->GoesOn() && (rank == 0 || !Exists(learner.from()))) {
    absl::StatusOr<v1::TrainConfig> config = run->ReadConfig();
    if (!config.ok()) return config.status();
    *learner.mutable_network() = std::move(*config->mutable_network());
    return absl::OkStatus();
  }
  absl::StatusOr<Checkpoint> checkpoint = LoadCheckpoint(learner.from());
  if (!checkpoint.ok()) return StatusAt("learner.from", checkpoint.status());
  *learner.mutable_network() = std::move(checkpoint->network);
  return absl::OkStatus();
}

uint32_t MostBestGames(const v1::ClusterConfig& config) {
  uint32_t most = 0;
  for (const v1::ReplayShard& shard : config.replay()) most = std::max(most, shard.best_games());
  return most;
}

absl::Status CheckThatRunIsThere(const v1::ClusterConfig& config, const Security& security) {
  const v1::LearnerRole& learner = config.learner();
  if (learner.new_run() || !absl::IsNotFound(RunDirectory::Open(learner.run_dir()).status())) {
    return absl::OkStatus();
  }
  const absl::Time deadline = SteadyNow() + kAskShards;
  for (const v1::ReplayShard& shard : config.replay()) {
    grpc::ClientContext context;
    PrepareCall(context, security, std::min(kAskShard, deadline - SteadyNow()));
    v1::ReplayStats stats;
    const auto stub = v1::Replay::NewStub(MakeChannel(shard.address(), security));
    if (!stub->GetStats(&context, v1::GetStatsRequest(), &stats).ok()) continue;
    if (stats.inserted_items() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("learner.run_dir: ", learner.run_dir(), " holds no run, but shard ",
                     shard.name(), " has stored ", stats.inserted_items(),
                     " games: is the folder mounted? --new-run begins a new run"));
  }
  return absl::OkStatus();
}

absl::Status CheckThatNoLearnerServes(const v1::LearnerRole& learner, const Security& security) {
  // Port 0 stands for any free port, at which there cannot be another learner.
  if (!ParseHostPort(learner.address()).has_value()) return absl::OkStatus();
  grpc::ClientContext context;
  PrepareCall(context, security, kAskLearner);
  v1::RoleStatus status;
  const auto stub = v1::Status::NewStub(MakeChannel(learner.address(), security));
  if (!stub->GetStatus(&context, v1::GetStatusRequest(), &status).ok() ||
      status.role() != v1::RoleStatus::LEARNER) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "learner.address: a learner has answered at ", learner.address(), " for ",
      absl::FormatDuration(absl::Trunc(absl::Seconds(status.uptime_seconds()), absl::Seconds(1))),
      "; end it before another one starts, or give this one another address"));
}

absl::StatusOr<RunDirectory> OpenRunDirectory(const v1::LearnerRole& learner) {
  const v1::TrainConfig config = MakeTrainConfig(learner);
  absl::StatusOr<RunDirectory> directory = RunDirectory::Open(learner.run_dir());
  if (absl::IsNotFound(directory.status())) return RunDirectory::Create(learner.run_dir(), config);
  if (!directory.ok()) return directory;
  const absl::StatusOr<v1::TrainConfig> before = directory->ReadConfig();
  if (!before.ok()) return before.status();
  if (SerializeDeterministically(before->network()) !=
      SerializeDeterministically(config.network())) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.network: the run in ", learner.run_dir(),
                     " has other networks; give it those of its config.textproto, or another "
                     "run_dir"));
  }
  if (IsRanked(before->learner()) != IsRanked(config.learner())) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.options.value_target: the run in ", learner.run_dir(),
                     " has another one, and its networks' values mean something else; give it "
                     "that of its config.textproto, or another run_dir"));
  }
  return directory;
}

absl::StatusOr<ProgramSet> LoadWorkloads(const v1::LearnerRole& learner) {
  const std::vector<std::string> workloads(learner.workloads().begin(), learner.workloads().end());
  absl::StatusOr<ProgramSet> programs = LoadPrograms(workloads);
  if (programs.ok()) return programs;
  return absl::Status(programs.status().code(),
                      absl::StrCat("learner.workloads: ", programs.status().message()));
}

std::vector<std::string> Fingerprints(const ProgramSet& programs) {
  std::vector<std::string> all;
  for (size_t p = 0; p < programs.size(); ++p) all.push_back(programs[p].sha256());
  return all;
}

ScoredVersionsOptions CandidateOptions(const v1::ClusterConfig& config) {
  ScoredVersionsOptions options;
  // An actor plays a round of evaluation games once in 1 / evaluated_share rounds. If all actors
  // have left out several of them, they cannot evaluate this candidate.
  options.patience_games =
      4.0 * config.actor().games_in_flight() / config.learner().evaluated_share();
  return options;
}

std::string NoScoreWarning(uint64_t step) {
  return absl::StrCat("no actor evaluates the weights of step ", step,
                      ", so they get no score; do the actors run an older release?");
}

std::vector<ScoredCheckpoint> DescribeScored(const v1::LearnerRole& learner,
                                             const ProgramSet& programs,
                                             const std::vector<ScoredVersion>& versions) {
  std::vector<ScoredCheckpoint> all;
  for (const ScoredVersion& version : versions) {
    all.push_back({MakeManifest(learner, programs, version), version.weights->bytes});
  }
  return all;
}

absl::StatusOr<RoleAssignment> MakeAssignment(const v1::LearnerRole& learner,
                                              const ProgramSet& programs) {
  RoleAssignment made;
  for (size_t p = 0; p < programs.size(); ++p) {
    absl::StatusOr<std::string> bytes =
        Compress(SerializeDeterministically(programs[p].program().proto()), programs[p].name());
    if (!bytes.ok()) return bytes.status();
    v1::Assignment::Program& program = *made.assignment.add_programs();
    program.set_sha256(programs[p].sha256());
    program.set_name(programs[p].name());
    program.set_file_sha256(Sha256(*bytes));
    program.set_file_bytes(bytes->size());
    made.files[program.file_sha256()] = std::make_shared<const std::string>(*std::move(bytes));
  }
  made.assignment.set_rules_version(kGameRulesVersion);
  *made.assignment.mutable_search() = learner.search();
  made.assignment.set_explored_decisions(learner.explored_decisions());
  made.assignment.set_searched_share(learner.searched_share());
  made.assignment.set_window_share(learner.window_share());
  made.assignment.set_evaluated_share(learner.evaluated_share());
  made.assignment.set_demonstration_seconds(learner.demonstration_seconds());
  return made;
}

}  // namespace mallocmuzero
