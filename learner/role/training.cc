#include "learner/role/training.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "learner/role/group_keeper.h"
#include "learner/run_metrics.h"

namespace mallocmuzero {
namespace {

// How long to wait for a batch before checking the other processes and a stop.
constexpr absl::Duration kBatchPatience = absl::Milliseconds(200);

// How long an attempt to meet waits for the other processes. Each failed attempt makes the next one
// longer, because processes on a busy machine are slow to connect. A stop waits for the attempt.
// Gloo also limits each later operation by this time, so it is longer than the three seconds after
// which a process without a heartbeat is lost (group_watch.h): then the reason has its number.
constexpr absl::Duration kFirstMeeting = absl::Seconds(4);
constexpr absl::Duration kLongestMeeting = absl::Seconds(8);

// The time between two attempts. It is short, so that attempts of all processes overlap.
constexpr absl::Duration kBetweenMeetings = absl::Milliseconds(100);

// About the number of updates in the mean losses.
constexpr double kLossMemory = 100;

constexpr absl::Duration kMetricsInterval = absl::Seconds(15);

}  // namespace

void Training::Spend(double TrainingTimes::*where, absl::Time since) {
  const absl::MutexLock lock(&mutex_);
  figures_.times.*where += absl::ToDoubleSeconds(SteadyNow() - since);
}

TrainingFigures Training::figures() const {
  const absl::MutexLock lock(&mutex_);
  return figures_;
}

absl::Status Training::Publish() {
  const absl::Time start = SteadyNow();
  const absl::StatusOr<Checkpoint> weights = trained_->Weights();
  device_failed_ = absl::IsInternal(weights.status());
  if (!weights.ok()) return weights.status();
  hooks_.publish(trained_->step(), SerializeCheckpoint(*weights));
  Spend(&TrainingTimes::publishing, start);
  return absl::OkStatus();
}

absl::Status Training::Run(BatchSource& batches, const absl::Notification& stop) {
  SetComputeThreads(1);
  absl::Status status = MakeUpdates(batches, stop);
  // After an error, too: the other processes notice the end at once, and no later save calls them.
  group_ = nullptr;
  book_shared_ = false;
  return status;
}

absl::Status Training::MakeUpdates(BatchSource& batches, const absl::Notification& stop) {
  absl::Duration meeting = kFirstMeeting;
  Updater updater(trained_->learner(), batches);
  while (!stop.HasBeenNotified()) {
    MMZ_RETURN_IF_ERROR(SaveWhenDue());
    if (const absl::Status kept = std::exchange(kept_group_, absl::OkStatus()); !kept.ok()) {
      MMZ_RETURN_IF_ERROR(LeaveAfterLoss(kept, stop));
    }
    if (config_.processes() > 1 && group_ == nullptr) {
      const absl::Status joined = Join(meeting);
      device_failed_ = absl::IsInternal(joined);
      // Another attempt would not help.
      if (device_failed_ || absl::IsInvalidArgument(joined)) return joined;
      if (!joined.ok()) {
        NoteApart(joined.message());
        meeting = std::min(1.5 * meeting, kLongestMeeting);
        stop.WaitForNotificationWithTimeout(kBetweenMeetings);
        continue;
      }
      meeting = kFirstMeeting;
    }
    const absl::Status status = Advance(updater, batches);
    // After a failed update the batch is kept for the next attempt.
    if (!status.ok()) MMZ_RETURN_IF_ERROR(LeaveAfterLoss(status, stop));
  }
  return absl::OkStatus();
}

// Makes one update if every process has a batch. Before the first one since the processes have met,
// gives all of them the same baselines instead.
absl::Status Training::Advance(Updater& updater, BatchSource& batches) {
  const absl::StatusOr<bool> ready = AllAreReady(updater);
  if (!ready.ok()) return ready.status();
  if (!*ready) return absl::OkStatus();
  if (group_ != nullptr && !book_shared_) {
    MMZ_RETURN_IF_ERROR(ShareBook());
    if (rank_ > 0) {
      // These batches were made with other baselines than those of process 0.
      batches.DropQueued();
      updater.Drop();
    }
    return absl::OkStatus();
  }
  MMZ_RETURN_IF_ERROR(Update(updater));
  return AfterUpdate();
}

absl::Status Training::Write(absl::FunctionRef<absl::Status()> write) {
  const auto note = [this](absl::Time since) {
    const absl::MutexLock lock(&mutex_);
    figures_.saving_since = since;
  };
  note(SteadyNow());
  GroupKeeper keeper(group_.get());
  absl::Status written = write();
  kept_group_.Update(keeper.End());
  note(absl::InfiniteFuture());
  return written;
}

// Returns an error only if this process must not write any more. The figures tell other errors, and
// the save is tried again.
absl::Status Training::SaveWhenDue() {
  if (!directory_.has_value()) return absl::OkStatus();
  const absl::Time now = SteadyNow();
  const bool has_metrics = now >= metrics_due_ && trained_->step() > 0;
  if (has_metrics || now >= save_due_) MMZ_RETURN_IF_ERROR(hooks_.may_write());
  if (has_metrics) SaveMetrics();
  if (now >= save_due_) Save().IgnoreError();
  KeepScored();
  return absl::OkStatus();
}

void Training::SaveMetrics() {
  metrics_due_ = SteadyNow() + kMetricsInterval;
  state_.set_iteration(state_.iteration() + 1);
  const absl::Status status = Write([this] { return AppendMetrics(); });
  if (status.ok()) return;
  state_.set_iteration(state_.iteration() - 1);  // the next line has its place
  NoteFailedWrite(status);
}

// Connects to the other processes, for which it waits at most `meeting`, and takes over the state
// of process 0.
absl::Status Training::Join(absl::Duration meeting) {
  absl::StatusOr<std::unique_ptr<DataParallel>> group =
      DataParallel::Connect({.rank = rank_,
                             .processes = config_.processes(),
                             .address = config_.rendezvous_address(),
                             .meeting_timeout = meeting,
                             .timeout = absl::Seconds(config_.group_timeout_seconds()),
                             .device = trained_->device(),
                             .device_id = DataParallel::DeviceId(trained_->device()),
                             .on_call = hooks_.joint_call});
  if (!group.ok()) return group.status();
  group_ = *std::move(group);
  hooks_.met();
  std::string state;
  if (rank_ == 0) {
    const absl::StatusOr<Checkpoint> checkpoint = Capture();
    if (!checkpoint.ok()) return checkpoint.status();
    state = SerializeCheckpoint(*checkpoint);
  }
  MMZ_RETURN_IF_ERROR(group_->Broadcast(state));
  if (rank_ > 0) {
    const absl::StatusOr<Checkpoint> checkpoint = ParseCheckpoint(state, "process 0's state");
    if (!checkpoint.ok()) return checkpoint.status();
    MMZ_RETURN_IF_ERROR(Restore(*checkpoint));
  }
  const absl::MutexLock lock(&mutex_);
  figures_.group_error.clear();
  return absl::OkStatus();
}

// The processes could not meet. An earlier reason stays: it tells which process is lost.
void Training::NoteApart(absl::string_view why) {
  group_ = nullptr;
  const absl::MutexLock lock(&mutex_);
  if (figures_.group_error.empty()) figures_.group_error = std::string(why);
}

// Returns an error if the processes must start anew, or if `why` is not the loss of a process.
absl::Status Training::LeaveAfterLoss(const absl::Status& why, const absl::Notification& stop) {
  if (group_ == nullptr || !absl::IsUnavailable(why)) return why;
  // The group ends first, so that the other processes notice the loss at once, too.
  group_ = nullptr;
  book_shared_ = false;
  const std::string lost = absl::StrCat(hooks_.lost(stop), " (", why.message(), ")");
  if (stop.HasBeenNotified()) return absl::OkStatus();
  NoteApart(lost);
  {
    const absl::MutexLock lock(&mutex_);
    ++figures_.group_losses;
    figures_.last_group_loss = lost;
  }
  const bool must_restart =
      config_.restart_together() || DataParallel::MustRestart(trained_->device());
  if (!must_restart) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(lost, "; all processes of the learner start anew"));
}

// Gives the baselines of process 0 to all processes, so that all normalize values in the same way.
absl::Status Training::ShareBook() {
  if (group_ == nullptr) return absl::OkStatus();
  v1::TrainState state;
  if (rank_ == 0) {
    state.set_update(trained_->step());
    book_.SaveTo(state);
  }
  std::string bytes = state.SerializeAsString();
  MMZ_RETURN_IF_ERROR(group_->Broadcast(bytes));
  book_shared_ = true;
  if (rank_ == 0) return absl::OkStatus();
  if (!state.ParseFromString(bytes)) return absl::InternalError("damaged baselines");
  return book_.RestoreFrom(state);
}

// Waits for a batch, and returns whether every process has one.
absl::StatusOr<bool> Training::AllAreReady(Updater& updater) {
  const absl::Time start = SteadyNow();
  const absl::StatusOr<bool> fetched = updater.Fetch(kBatchPatience);
  if (!fetched.ok()) return fetched.status();
  Spend(&TrainingTimes::waiting, start);
  const absl::Time fetched_at = SteadyNow();
  const absl::StatusOr<bool> ready = updater.Agree(group_.get());
  if (group_ != nullptr && ready.ok()) Spend(&TrainingTimes::agreeing, fetched_at);
  return ready;
}

absl::Status Training::Update(Updater& updater) {
  const absl::Time start = SteadyNow();
  const absl::StatusOr<Updater::Done> done = updater.Update(group_.get());
  device_failed_ = absl::IsInternal(done.status());
  if (!done.ok()) return done.status();
  NoteUpdate(*done);
  Spend(&TrainingTimes::updating, start);
  return absl::OkStatus();
}

void Training::NoteUpdate(const Updater::Done& done) {
  const absl::MutexLock lock(&mutex_);
  figures_.step = trained_->step();
  figures_.rows += done.batch.rows;
  figures_.drawn_ages.Add(done.batch.prioritized, figures_.step);
  figures_.last_update = SteadyNow();
  // A loss that is not finite would stay in the moving means for good, so it is left out.
  if (!std::isfinite(done.result.total_loss) || !std::isfinite(done.result.gradient_norm)) return;
  const double rate = 1 / std::min(static_cast<double>(++noted_updates_), kLossMemory);
  ScaleLosses(1 - rate, figures_.losses);
  AddLosses(done.result, rate, figures_.losses);
}

// Called by every process after the same steps, so that the collective calls match.
absl::Status Training::AfterUpdate() {
  if (trained_->step() % config_.publish_updates() != 0) return absl::OkStatus();
  book_.Refresh(trained_->step());
  MMZ_RETURN_IF_ERROR(ShareBook());
  return rank_ == 0 ? Publish() : absl::OkStatus();
}

}  // namespace mallocmuzero
