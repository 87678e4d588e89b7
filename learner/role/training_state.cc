// The functions of Training that set it up and that write checkpoints and metrics.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/rounding.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "learner/checkpoint_store.h"
#include "learner/role/training.h"
#include "learner/run_checkpoint.h"
#include "learner/run_metrics.h"
#include "model/network.h"

namespace mallocmuzero {
namespace {

// The most time until the first checkpoint after a start, and until the next one after a failure.
constexpr absl::Duration kEarlySave = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::unique_ptr<Training>> Training::Create(const v1::LearnerRole& config,
                                                           uint32_t rank, GameBook& book,
                                                           std::optional<RunDirectory> directory,
                                                           TrainingHooks hooks) {
  std::unique_ptr<Training> training =
      absl::WrapUnique(new Training(config, rank, book, std::move(directory), std::move(hooks)));
  MMZ_RETURN_IF_ERROR(training->SetUp());
  return training;
}

Training::Training(const v1::LearnerRole& config, uint32_t rank, GameBook& book,
                   std::optional<RunDirectory> directory, TrainingHooks hooks)
    : config_(config),
      rank_(rank),
      book_(book),
      directory_(std::move(directory)),
      hooks_(std::move(hooks)),
      began_(SteadyNow()),
      save_due_(began_ + std::min(kEarlySave, absl::Seconds(config.checkpoint_seconds()))),
      metrics_due_(began_) {}

absl::Status Training::SetUp() {
  absl::StatusOr<std::optional<Checkpoint>> latest = std::optional<Checkpoint>();
  if (directory_.has_value()) {
    SweepCheckpoints(*directory_);
    latest = LoadLatest(*directory_);
  }
  if (!latest.ok()) return latest.status();
  // A run that goes on has weights of its own, and the other processes get those of process 0.
  const bool is_new = directory_.has_value() && !latest->has_value();
  std::unique_ptr<Network> from;
  if (is_new && !config_.from().empty()) {
    absl::StatusOr<std::unique_ptr<Network>> loaded = LoadNetwork(config_.from());
    if (!loaded.ok()) return StatusAt("learner.from", loaded.status());
    from = *std::move(loaded);
  }
  absl::StatusOr<TrainedNetwork> trained =
      TrainedNetwork::Create(config_.network(), config_.options(), config_.seed(),
                             HasCuda() ? Device::kCuda : Device::kCpu, from.get());
  if (!trained.ok()) return trained.status();
  trained_ = *std::move(trained);
  // A new run saves a checkpoint before anything else, so that a run without one is known to have
  // lost it.
  if (is_new) return SaveCheckpoint();
  return latest->has_value() ? GoOnFrom(**latest) : absl::OkStatus();
}

// The counters of the run up to now.
v1::TrainState Training::Totals(const ActorWork& played) const {
  v1::TrainState totals = state_;
  totals.set_games(totals.games() + RoundToZero(played.games));
  totals.set_decisions(totals.decisions() + RoundToZero(played.decisions));
  totals.set_seconds(totals.seconds() + absl::ToDoubleSeconds(SteadyNow() - began_));
  return totals;
}

absl::StatusOr<Checkpoint> Training::Capture() const {
  v1::TrainState state = Totals(hooks_.played());
  book_.SaveTo(state);
  return trained_->Capture(std::move(state));
}

absl::Status Training::Restore(const Checkpoint& checkpoint) {
  absl::StatusOr<v1::TrainState> state = ReadState(checkpoint);
  if (!state.ok()) return state.status();
  MMZ_RETURN_IF_ERROR(book_.RestoreFrom(*state));
  MMZ_RETURN_IF_ERROR(trained_->Restore(checkpoint));
  state->clear_programs();
  // The fields about stored games come from a run of `train`, and a learner does not use them.
  // Their absence tells that a learner has continued the run.
  state->clear_replay();
  state->clear_draws_due();
  state_ = *std::move(state);
  const absl::MutexLock lock(&mutex_);
  figures_.step = checkpoint.step;
  return absl::OkStatus();
}

absl::Status Training::SaveCheckpoint() const {
  const absl::StatusOr<Checkpoint> checkpoint = Capture();
  if (!checkpoint.ok()) return checkpoint.status();
  return SaveLatest(*directory_, *checkpoint);
}

absl::Status Training::GoOnFrom(const Checkpoint& latest) {
  MMZ_RETURN_IF_ERROR(StatusAt(directory_->checkpoint_path(), Restore(latest)));
  return directory_->TruncateMetrics(state_.iteration());
}

absl::Status Training::Save() {
  const absl::Time start = SteadyNow();
  const absl::Status status = Write([this] { return SaveFiles(); });
  const absl::Duration interval = absl::Seconds(config_.checkpoint_seconds());
  save_due_ = status.ok() ? start + interval : SteadyNow() + std::min(kEarlySave, interval);
  Spend(&TrainingTimes::saving, start);
  const absl::MutexLock lock(&mutex_);
  figures_.save_error = std::string(status.message());
  if (status.ok()) {
    figures_.last_save = absl::Now();
  } else {
    ++figures_.failed_saves;
  }
  return status;
}

void Training::NoteFailedWrite(const absl::Status& status) {
  save_due_ = std::min(save_due_, SteadyNow() + kEarlySave);
  const absl::MutexLock lock(&mutex_);
  figures_.save_error = std::string(status.message());
}

absl::Status Training::SaveAtEnd() {
  if (!directory_.has_value()) return absl::OkStatus();
  MMZ_RETURN_IF_ERROR(hooks_.may_write());
  KeepScored();
  return device_failed_ ? absl::OkStatus() : Save();  // the last checkpoint is whole
}

void Training::KeepScored() {
  // Versions are taken even if none is kept, so that they do not pile up.
  const std::vector<ScoredCheckpoint> all = hooks_.scored();
  if (config_.scored_checkpoints() == 0) return;
  for (const ScoredCheckpoint& scored : all) {
    const absl::Time start = SteadyNow();
    const absl::Status status = Write([&] {
      MMZ_RETURN_IF_ERROR(hooks_.may_write());
      return KeepCheckpoint(
          *directory_, scored.manifest, *scored.bytes,
          {.number = config_.scored_checkpoints(), .bytes = config_.scored_checkpoint_bytes()});
    });
    Spend(&TrainingTimes::saving, start);
    if (status.ok()) continue;
    NoteFailedWrite(status);
    const absl::MutexLock lock(&mutex_);
    ++figures_.failed_saves;
  }
}

// Tries to write every file, even if another one cannot be written. The checkpoint's iteration
// includes the line of metrics that is written after it, so a run that continues from the
// checkpoint removes only later lines.
absl::Status Training::SaveFiles() {
  state_.set_iteration(state_.iteration() + 1);
  absl::Status status = SaveCheckpoint();
  status.Update(AppendMetrics());
  status.Update(book_.WriteBestMappings(*directory_));
  return status;
}

absl::Status Training::AppendMetrics() {
  const ActorWork played = hooks_.played();
  const TrainingFigures now = figures();
  v1::TrainMetrics metrics;
  DescribeTotals(Totals(played), now.step, metrics);
  metrics.set_learn_seconds(now.times.updating - noted_updating_);
  metrics.set_simulations(played.simulations - noted_simulations_);
  if (noted_updates_ > 0) *metrics.mutable_losses() = now.losses;
  for (v1::TrainMetrics::Program& program : book_.Describe(hooks_.mean_returns())) {
    *metrics.add_programs() = std::move(program);
  }
  MMZ_RETURN_IF_ERROR(directory_->AppendMetrics(metrics));
  noted_updating_ = now.times.updating;
  noted_simulations_ = played.simulations;
  return absl::OkStatus();
}

}  // namespace mallocmuzero
