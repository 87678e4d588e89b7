// The updates of a learner's role: state, loop, checkpoints, other processes.

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

// Where the training thread's time went, seconds.
struct TrainingTimes {
  double waiting = 0;   // for a batch
  double agreeing = 0;  // with other processes
  double updating = 0;
  double publishing = 0;
  double saving = 0;
};

// What is known of it from outside.
struct TrainingFigures {
  uint64_t step = 0;
  uint64_t rows = 0;                // trained on by this process since it began
  v1::TrainMetrics::Losses losses;  // moving mean over about 100 updates
  DrawnAges drawn_ages;             // of the rows drawn by priority among those
  TrainingTimes times;
  absl::Time last_update = absl::InfinitePast();
  absl::Time last_save = absl::InfinitePast();
  uint64_t failed_saves = 0;
  absl::Time saving_since = absl::InfiniteFuture();  // infinite: it does not save
  std::string save_error;                            // of the last save; empty: it went well
  std::string group_error;  // why there is no contact with the other processes; empty: there is
};

// What all actors have done since this process began.
struct ActorWork {
  double games = 0;
  double decisions = 0;
  double simulations = 0;
};

// What it tells others.
struct TrainingHooks {
  // Newer weights, as a checkpoint file without optimiser. Process 0 only.
  std::function<void(uint64_t step, std::string bytes)> publish;

  // What each of the positions was a surprise by.
  std::function<void(absl::Span<const SampledPosition> drawn, absl::Span<const double> errors)>
      prioritize;

  // And the mean return of recent games of each program (NaN: none).
  std::function<ActorWork()> played;
  std::function<std::vector<double>()> mean_returns;
};

// Run on one thread; the rest is thread-safe.
class Training {
 public:
  // `book` must outlive it. Process 0 has `directory`, and goes on from the checkpoint in it, or
  // saves a first one if the run has not begun; an error names the file, and is FailedPrecondition
  // if a run that has begun lacks its checkpoint.
  static absl::StatusOr<std::unique_ptr<Training>> Create(const v1::LearnerRole& config,
                                                          uint32_t rank, GameBook& book,
                                                          std::optional<RunDirectory> directory,
                                                          TrainingHooks hooks);

  // Publishes the weights as they are: call once, before Run.
  void Publish();

  // Updates from batches until `stop`, and saves now and then. An error is what keeps it from going
  // on.
  absl::Status Run(BatchSource& batches, const absl::Notification& stop);

  // Process 0 saves what Run has left. Errors name the file.
  absl::Status SaveAtEnd() { return directory_.has_value() ? Save() : absl::OkStatus(); }

  // Rows of this process in each batch.
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
  void NoteSavingSince(absl::Time since);
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
  std::unique_ptr<DataParallel> group_;  // null: alone, or not yet together
  v1::TrainState state_;                 // counters; the rest is filled in by Capture
  double largest_weight_ = 1;            // of the batches that all agreed on
  uint64_t noted_updates_ = 0;           // that the losses in figures_ are of
  bool book_shared_ = false;             // since the processes met
  double noted_simulations_ = 0;         // in lines of metrics of this process
  double noted_updating_ = 0;            // seconds, likewise
  absl::Time began_;
  absl::Time save_due_;
  absl::Time metrics_due_;

  mutable absl::Mutex mutex_;
  TrainingFigures figures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_TRAINING_H_
