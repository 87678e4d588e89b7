// The training of a learner's role: state, loop of updates, checkpoints, other processes.

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
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "learner/data_parallel.h"
#include "learner/learner.h"
#include "learner/role/batch_source.h"
#include "learner/role/drawn_ages.h"
#include "learner/role/game_book.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"

namespace mallocmuzero {

// The time that the training thread has spent on each activity, seconds.
struct TrainingTimes {
  double waiting = 0;   // for a batch
  double agreeing = 0;  // on the batch, with other processes
  double updating = 0;
  double publishing = 0;
  double saving = 0;
};

// Figures of the training for status and metrics.
struct TrainingFigures {
  uint64_t step = 0;
  uint64_t rows = 0;                // that this process has trained on since it began
  v1::TrainMetrics::Losses losses;  // moving mean over about 100 updates
  DrawnAges drawn_ages;             // of those rows that were drawn by priority
  TrainingTimes times;
  absl::Time last_update = absl::InfinitePast();
  absl::Time last_save = absl::InfinitePast();
  uint64_t failed_saves = 0;
  std::string save_error;   // of the last save; empty if it succeeded
  std::string group_error;  // why the other processes cannot be reached; empty if they can
};

// The work of all actors since this process began.
struct ActorWork {
  double games = 0;
  double decisions = 0;
  double simulations = 0;
};

// Functions through which the training talks to the rest of the role.
struct TrainingHooks {
  // Publishes newer weights, a checkpoint file without optimiser. Only process 0 calls it.
  std::function<void(uint64_t step, std::string bytes)> publish;

  // Sends new priorities of the positions to the shards: errors[i] is that of drawn[i].
  std::function<void(absl::Span<const SampledPosition> drawn, absl::Span<const double> errors)>
      prioritize;

  // The work of all actors, and the mean return of recent games of each program (NaN: no games).
  std::function<ActorWork()> played;
  std::function<std::vector<double>()> mean_returns;
};

// One thread calls Run; figures() is thread-safe.
class Training {
 public:
  // `book` must outlive it. Only process 0 has a `directory`. It continues from the checkpoint
  // there, or saves a first one if the run has not begun. An error names the file; it is
  // FailedPrecondition if a run has begun and lacks its checkpoint.
  static absl::StatusOr<std::unique_ptr<Training>> Create(const v1::LearnerRole& config,
                                                          uint32_t rank, GameBook& book,
                                                          std::optional<RunDirectory> directory,
                                                          TrainingHooks hooks);

  // Publishes the present weights. Call it once, before Run.
  void Publish();

  // Makes updates from batches until `stop`, and saves from time to time. An error says why
  // training cannot go on.
  absl::Status Run(BatchSource& batches, const absl::Notification& stop);

  // Saves the state at the end of Run, in process 0. Errors name the file.
  absl::Status SaveAtEnd() { return directory_.has_value() ? Save() : absl::OkStatus(); }

  // The number of rows of this process in each batch.
  uint32_t rows() const { return config_.options().batch_size() / config_.processes(); }

  TrainingFigures figures() const;

 private:
  Training(const v1::LearnerRole& config, uint32_t rank, GameBook& book,
           std::optional<RunDirectory> directory, TrainingHooks hooks);

  // training_state.cc
  absl::Status SetUp();
  Checkpoint Capture() const;
  absl::Status Restore(const Checkpoint& checkpoint);
  absl::Status RestoreFromDirectory();
  absl::Status Save();
  absl::Status SaveFiles();
  absl::Status AppendMetrics();  // of the iteration that state_ counts

  // training.cc
  absl::Status Join();
  absl::Status ShareBook();
  absl::StatusOr<bool> AllAreReady(const std::optional<PreparedBatch>& batch);
  absl::Status Update(PreparedBatch& batch);
  absl::Status AfterUpdate();
  void NoteUpdate(const UpdateResult& result, const PreparedBatch& batch);
  void Leave(const absl::Status& why);
  void SaveWhenDue();
  void Spend(double TrainingTimes::*where, absl::Time since);

  const v1::LearnerRole config_;
  const uint32_t rank_;
  GameBook& book_;
  const std::optional<RunDirectory> directory_;
  const TrainingHooks hooks_;
  Device device_ = Device::kCpu;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<DataParallel> group_;  // null: alone, or the processes have not met
  v1::TrainState state_;                 // counters only; Capture fills in the rest
  double largest_weight_ = 1;            // of the batches of all processes
  uint64_t noted_updates_ = 0;           // number of updates in the losses of figures_
  bool book_shared_ = false;             // process 0 has shared its baselines since the meeting
  double noted_simulations_ = 0;         // already in lines of metrics
  double noted_updating_ = 0;            // seconds, already in lines of metrics
  absl::Time began_;
  absl::Time save_due_;
  absl::Time metrics_due_;

  mutable absl::Mutex mutex_;
  TrainingFigures figures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_TRAINING_H_
