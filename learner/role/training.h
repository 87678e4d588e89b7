// The training loop of a learner's role. Also saves its checkpoints and trains together with other
// processes of the learner.

#ifndef MALLOCMUZERO_LEARNER_ROLE_TRAINING_H_
#define MALLOCMUZERO_LEARNER_ROLE_TRAINING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "learner/checkpoint_store.h"
#include "learner/data_parallel.h"
#include "learner/role/batch_source.h"
#include "learner/role/drawn_ages.h"
#include "learner/role/game_book.h"
#include "learner/run_directory.h"
#include "learner/trained_network.h"
#include "learner/updater.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "replay/return_units.h"

namespace mallocmuzero {

// The seconds that the training thread has spent in each state.
struct TrainingTimes {
  double waiting = 0;   // for a batch
  double agreeing = 0;  // on the batch, with other processes
  double updating = 0;
  double publishing = 0;
  double saving = 0;
};

// The figures of a training that other threads may read.
struct TrainingFigures {
  uint64_t step = 0;
  uint64_t rows = 0;                // trained on by this process since its start
  v1::TrainMetrics::Losses losses;  // moving mean over about 100 updates
  DrawnAges drawn_ages;             // of those rows that were drawn by priority
  TrainingTimes times;
  absl::Time last_update = absl::InfinitePast();  // by SteadyNow
  absl::Time last_save = absl::InfinitePast();    // by the wall clock: metrics tell it
  uint64_t failed_saves = 0;
  // When the save that is under way began, by SteadyNow; infinite if there is none.
  absl::Time saving_since = absl::InfiniteFuture();
  std::string save_error;       // why the last save failed; empty if it succeeded
  std::string group_error;      // why the other processes are not connected; empty if they are
  uint64_t group_losses = 0;    // how often a process was lost
  std::string last_group_loss;  // why, at the last time
};

// The totals of all actors since this process started.
struct ActorWork {
  double games = 0;
  double decisions = 0;
  double simulations = 0;
};

// Functions that connect a training to the rest of its role. Called from the thread that runs it.
struct TrainingHooks {
  // Publishes newer weights, as the bytes of a checkpoint file without optimizer state. Process 0
  // only.
  std::function<void(uint64_t step, std::string bytes)> publish;

  // Returns the totals of the actors.
  std::function<ActorWork()> played;

  // Returns the mean return of recent games of each program that has any.
  std::function<std::vector<std::optional<HbmShare>>()> mean_returns;

  // Returns the published weights that have got a score since the last call, to keep them. Process
  // 0 only.
  std::function<std::vector<ScoredCheckpoint>()> scored;

  // These three are for several processes. They are called when the processes have met, when a call
  // that waits for the others begins, and when such a call has failed. `lost` says which process is
  // lost. It may take seconds, but returns soon after `stop`.
  std::function<void()> met;
  std::function<void()> joint_call;
  std::function<std::string(const absl::Notification& stop)> lost;

  // FailedPrecondition if another process has taken over the run, so that this one must not write
  // any more. Process 0 only.
  std::function<absl::Status()> may_write;
};

// One thread at a time may call Publish, Run and SaveAtEnd; rows and figures are thread-safe.
class Training {
 public:
  // `book` must outlive the training. Pass `directory` for process 0 only: it continues from the
  // checkpoint there, or saves a first one if the run is new. Errors name the file;
  // FailedPrecondition if a run that has begun lacks its checkpoint.
  static absl::StatusOr<std::unique_ptr<Training>> Create(const v1::LearnerRole& config,
                                                          uint32_t rank, GameBook& book,
                                                          std::optional<RunDirectory> directory,
                                                          TrainingHooks hooks);

  // Publishes the current weights. Call once, before Run. Returns the errors of
  // TrainedNetwork::Weights.
  absl::Status Publish();

  // Makes updates from `batches` until `stop`, publishes weights and saves checkpoints. Blocks.
  // Returns an error if training cannot go on; failed saves are retried instead. After the loss of
  // another process it waits for that process to come back, or returns Unavailable if all are to
  // start anew. When it returns, the processes are not connected any more.
  absl::Status Run(BatchSource& batches, const absl::Notification& stop);

  // Saves the final state after Run, in process 0 only; after a failure of the device the last
  // checkpoint stays. Errors name the file, or say that another process has taken over the run.
  absl::Status SaveAtEnd();

  // The number of rows of each batch that this process trains on.
  uint32_t rows() const { return config_.options().batch_size() / config_.processes(); }

  TrainingFigures figures() const;

 private:
  Training(const v1::LearnerRole& config, uint32_t rank, GameBook& book,
           std::optional<RunDirectory> directory, TrainingHooks hooks);

  // training_state.cc
  absl::Status SetUp();
  v1::TrainState Totals(const ActorWork& played) const;
  absl::StatusOr<Checkpoint> Capture() const;
  absl::Status SaveCheckpoint() const;
  absl::Status Restore(const Checkpoint& checkpoint);
  absl::Status GoOnFrom(const Checkpoint& latest);
  absl::Status Save();
  absl::Status SaveFiles();
  // Makes the next save early, because only a save says that there is room again.
  void NoteFailedWrite(const absl::Status& status);
  void KeepScored();
  absl::Status AppendMetrics();  // a line for the current iteration of state_

  // training.cc
  absl::Status MakeUpdates(BatchSource& batches, const absl::Notification& stop);
  absl::Status Advance(Updater& updater, BatchSource& batches);
  absl::Status Join(absl::Duration meeting);
  absl::Status ShareBook();
  absl::StatusOr<bool> AllAreReady(Updater& updater);
  absl::Status Update(Updater& updater);
  absl::Status AfterUpdate();
  void NoteUpdate(const Updater::Done& done);
  void NoteApart(absl::string_view why);
  absl::Status LeaveAfterLoss(const absl::Status& why, const absl::Notification& stop);
  // Calls `write`, which writes files, and returns its result. Meanwhile the figures tell that it
  // takes long, and the group is kept: its errors go to kept_group_.
  absl::Status Write(absl::FunctionRef<absl::Status()> write);
  absl::Status SaveWhenDue();
  void SaveMetrics();
  void Spend(double TrainingTimes::*where, absl::Time since);

  const v1::LearnerRole config_;
  const uint32_t rank_;
  GameBook& book_;
  const std::optional<RunDirectory> directory_;
  const TrainingHooks hooks_;
  std::optional<TrainedNetwork> trained_;  // set by SetUp
  std::unique_ptr<DataParallel> group_;    // null if alone or while not connected
  v1::TrainState state_;                   // of the last Restore, and the present iteration
  uint64_t noted_updates_ = 0;             // number of updates in the losses of figures_
  absl::Status kept_group_;                // of group_, while files were written
  bool book_shared_ = false;               // ShareBook was called since the processes connected
  bool device_failed_ = false;             // the weights may have changed in part
  double noted_simulations_ = 0;           // in this process's lines of metrics so far
  double noted_updating_ = 0;              // seconds in these lines so far
  absl::Time began_;                       // by the steady clock, as the next two
  absl::Time save_due_;
  absl::Time metrics_due_;

  mutable absl::Mutex mutex_;
  TrainingFigures figures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_TRAINING_H_
