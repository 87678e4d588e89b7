// TrainingRun: set-up, saving and resuming.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "env/recorded_game.h"
#include "learner/run_checkpoint.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "train/train_config.h"
#include "train/training_run.h"

namespace mallocmuzero {
namespace {

// The state in a checkpoint of `train`. The games of a cluster's checkpoint are on replay shards: a
// run of `train` cannot continue from it.
absl::StatusOr<v1::TrainState> ReadOwnState(const Checkpoint& checkpoint, const std::string& path) {
  absl::StatusOr<v1::TrainState> state = ReadState(checkpoint);
  if (!state.ok()) return StatusAt(path, state.status());
  if (state->has_replay()) return state;
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   ": a cluster's learner has continued this run; go on with `mallocmuzero "
                   "learner`, or begin a new run with its networks: --from ",
                   path));
}

}  // namespace

TrainingRun::TrainingRun(RunLock lock, RunDirectory directory, v1::TrainConfig config,
                         ProgramSet programs, TrainedNetwork trained)
    : lock_(std::move(lock)),
      directory_(std::move(directory)),
      config_(std::move(config)),
      programs_(std::move(programs)),
      replay_(config_.replay()),
      trained_(std::move(trained)) {}

absl::StatusOr<std::unique_ptr<TrainingRun>> TrainingRun::Start(const std::string& folder,
                                                                const v1::TrainConfig& config,
                                                                ProgramSet programs, Device device,
                                                                const Network* from) {
  MMZ_RETURN_IF_ERROR(CheckTrainConfig(config));
  if (from != nullptr &&
      SerializeDeterministically(from->config()) != SerializeDeterministically(config.network())) {
    return absl::InvalidArgumentError("network: as that of the weights to begin from expected");
  }
  // The folder is made last, so that an error leaves none behind.
  absl::StatusOr<TrainedNetwork> trained =
      TrainedNetwork::Create(config.network(), config.learner(), config.seed(), device, from);
  if (!trained.ok()) return trained.status();
  // The lock comes before the check of the folder: if two processes start at the same time, only
  // one may find it empty.
  absl::StatusOr<RunLock> lock = RunLock::Acquire(folder);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<RunDirectory> directory = RunDirectory::Prepare(folder);
  if (!directory.ok()) return directory.status();
  std::unique_ptr<TrainingRun> run(new TrainingRun(*std::move(lock), *std::move(directory), config,
                                                   std::move(programs), *std::move(trained)));
  MMZ_RETURN_IF_ERROR(run->SetUp());
  const absl::StatusOr<Saved> first = run->Capture();
  if (!first.ok()) return first.status();
  MMZ_RETURN_IF_ERROR(SaveCheckpoint(run->directory_.checkpoint_path(), first->checkpoint));
  // The config makes the folder a run. It comes after the checkpoint, so that a Resume before the
  // first iteration finds the weights of `from`.
  MMZ_RETURN_IF_ERROR(run->directory_.WriteConfig(config));
  return run;
}

absl::StatusOr<std::unique_ptr<TrainingRun>> TrainingRun::Resume(const std::string& folder,
                                                                 ProgramSet programs,
                                                                 Device device) {
  absl::StatusOr<RunDirectory> directory = RunDirectory::Open(folder);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<RunLock> lock = RunLock::Acquire(folder);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<std::optional<Checkpoint>> checkpoint = LoadLatest(*directory);
  if (!checkpoint.ok()) return checkpoint.status();
  absl::StatusOr<v1::TrainState> state = v1::TrainState();
  if (checkpoint->has_value()) state = ReadOwnState(**checkpoint, directory->checkpoint_path());
  if (!state.ok()) return state.status();
  const absl::StatusOr<v1::TrainConfig> config = directory->ReadConfig();
  if (!config.ok()) return config.status();
  const absl::Status valid = CheckTrainConfig(*config);
  if (!valid.ok()) {
    return absl::Status(valid.code(), absl::StrCat(folder, "/config.textproto: ", valid.message()));
  }
  absl::StatusOr<TrainedNetwork> trained =
      TrainedNetwork::Create(config->network(), config->learner(), config->seed(), device);
  if (!trained.ok()) return trained.status();
  std::unique_ptr<TrainingRun> run(new TrainingRun(*std::move(lock), *std::move(directory), *config,
                                                   std::move(programs), *std::move(trained)));
  MMZ_RETURN_IF_ERROR(run->SetUp());
  run->state_ = *std::move(state);
  if (checkpoint->has_value()) MMZ_RETURN_IF_ERROR(run->Restore(**checkpoint));
  return run;
}

absl::Status TrainingRun::SetUp() {
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(config_.search());
  if (!search.ok()) return search.status();
  search_ = *search;
  absl::StatusOr<ProgramRecords> records =
      ProgramRecords::Create(programs_, RankedQuantile(config_.learner()));
  if (!records.ok()) return records.status();
  records_ = *std::move(records);
  learned_baselines_ = records_->baselines();
  batch_maker_ =
      std::make_unique<BatchMaker>(programs_, records_->baselines(), config_.learner(), threads());
  return absl::OkStatus();
}

absl::StatusOr<TrainingRun::Saved> TrainingRun::Capture() const {
  v1::TrainState state = state_;
  *state.mutable_replay() = replay_.Save();
  records_->SaveTo(state);
  for (v1::TrainState::Program& program : *state.mutable_programs()) {
    *program.mutable_learned_baseline() = learned_baselines_.at(program.sha256()).Save();
  }
  absl::StatusOr<Checkpoint> checkpoint = trained_.Capture(std::move(state));
  if (!checkpoint.ok()) return checkpoint.status();
  return Saved{.iteration = state_.iteration(),
               .checkpoint = *std::move(checkpoint),
               .games = replay_.SavedGames()};
}

absl::Status TrainingRun::Save(const Saved& saved) {
  MMZ_RETURN_IF_ERROR(lock_.Check());
  const bool is_new = saved.iteration != saved_iteration_;
  // The games and the checkpoint of an iteration cannot be replaced in one step, so those on the
  // disk stay. Only demonstrations change an iteration that has been saved, the iteration 0.
  if (is_new || saved.iteration == 0) {
    MMZ_RETURN_IF_ERROR(directory_.WriteGames(saved.iteration, saved.games));
    // A second checkpoint of the same iteration does not replace the previous one: two equal
    // checkpoints are no better than one.
    MMZ_RETURN_IF_ERROR(is_new ? SaveLatest(directory_, saved.checkpoint)
                               : SaveCheckpoint(directory_.checkpoint_path(), saved.checkpoint));
    saved_iteration_ = saved.iteration;
    // The older games are not needed any more.
    directory_.RemoveOtherGames(saved.iteration);
  }
  // Only the programs with a better game: in a run of hundreds of programs these are few.
  std::vector<ImprovedProgram> improved = records_->TakeImproved();
  const absl::Status status = WriteBestMappings(directory_, improved);
  records_->PutBackImproved(improved);
  return status;
}

absl::Status TrainingRun::Restore(const Checkpoint& checkpoint) {
  const std::string path = directory_.checkpoint_path();
  absl::Status status = CheckRules(state_);
  if (status.ok()) status = trained_.Restore(checkpoint);
  if (status.ok()) status = RestorePrograms();
  MMZ_RETURN_IF_ERROR(StatusAt(path, status));
  // The first checkpoint is written before there are games.
  absl::StatusOr<std::vector<SharedTrajectory>> games = std::vector<SharedTrajectory>();
  if (state_.replay().inserted_games() > 0) games = directory_.ReadGames(state_.iteration());
  if (absl::IsNotFound(games.status())) {
    // For example in a run that a cluster's learner has continued.
    return absl::FailedPreconditionError(
        absl::StrCat(games.status().message(),
                     "; without the checkpoint's games the run cannot go on, and a new "
                     "one can begin with its networks: --from ",
                     path));
  }
  if (!games.ok()) return games.status();
  MMZ_RETURN_IF_ERROR(CheckGames(*games));
  MMZ_RETURN_IF_ERROR(StatusAt(path, replay_.Restore(state_.replay(), *games)));
  saved_iteration_ = state_.iteration();
  MMZ_RETURN_IF_ERROR(directory_.TruncateMetrics(state_.iteration()));
  // Games of a later checkpoint must go: they would be taken for those of the checkpoint before the
  // next one.
  directory_.RemoveOtherGames(state_.iteration());
  return absl::OkStatus();
}

absl::Status TrainingRun::CheckGames(absl::Span<const SharedTrajectory> games) const {
  for (size_t i = 0; i < games.size(); ++i) {
    const v1::Trajectory& game = *games[i];
    const PlayedProgram* program = programs_.Find(game.program_sha256());
    const absl::Status status =
        program == nullptr ? absl::InvalidArgumentError("of a program that is not in this run")
                           : CheckRecordedGame(*program, game);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(directory_.path(), "/replay/",
                                                     state_.iteration(), ".games: game ", i, ": ",
                                                     status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::RestorePrograms() {
  if (state_.programs_size() != programs_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("a run of ", state_.programs_size(),
                                                   " programs; ", programs_.size(),
                                                   " were given: give the same ones"));
  }
  for (int p = 0; p < state_.programs_size(); ++p) {
    const v1::TrainState::Program& saved = state_.programs(p);
    if (saved.baseline().has_return_to_beat() != IsRanked(config_.learner())) {
      return absl::InvalidArgumentError(
          "learner.value_target: the run began with another one, and its networks' values mean "
          "something else");
    }
    MMZ_RETURN_IF_ERROR(records_->Restore(p, saved));
    const v1::ReturnBaselineState& learned =
        saved.has_learned_baseline() ? saved.learned_baseline() : saved.baseline();
    if (!learned_baselines_.at(saved.sha256()).Restore(learned)) {
      return absl::InvalidArgumentError(
          absl::StrCat(programs_[p].name(),
                       ": the record of the program is damaged: learned_baseline: the numbers of a "
                       "baseline of this program expected"));
    }
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
