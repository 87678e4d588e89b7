// One training run in one process, which plays and learns. A run can be stopped and resumed.

#ifndef MALLOCMUZERO_TRAIN_TRAINING_RUN_H_
#define MALLOCMUZERO_TRAIN_TRAINING_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/incumbents.h"
#include "actor/self_play.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/program_progress.h"
#include "learner/program_records.h"
#include "learner/run_directory.h"
#include "learner/run_lock.h"
#include "learner/trained_network.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "replay/trajectory_buffer.h"
#include "train/player_pool.h"

namespace mallocmuzero {

class TaskMaker;  // actor/task_maker.h

// The conditions under which Run returns.
struct RunLimits {
  absl::Time deadline = absl::InfiniteFuture();  // by SteadyNow
  uint64_t iterations = UINT64_MAX;              // of the run, including those before a Resume
  std::function<bool()> stop;                    // called often, on any thread; true ends Run soon
};

// In each iteration, the players use the weights of the last iteration while the learner trains on
// the games of earlier iterations. So neither waits for the other, and a run still depends on its
// config only: not on how long anything takes, nor on how often the run was stopped and resumed.
// (Another number of threads makes other batches, whose numbers are rounded differently.) Not
// thread-safe.
class TrainingRun {
 public:
  // Begins a run in a folder without a run, with fresh weights or those of `from`, a network of the
  // same config. Errors name the config's field or the file. Here and in Resume, FailedPrecondition
  // if another process uses the folder.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Start(const std::string& folder,
                                                            const v1::TrainConfig& config,
                                                            ProgramSet programs, Device device,
                                                            const Network* from = nullptr);

  // Continues from a run's last checkpoint, or from fresh weights if the run ended before it had
  // one. InvalidArgument if the programs are not those of the run; FailedPrecondition if its
  // checkpoint is gone or was written by a cluster's learner. After an error no file has changed.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Resume(const std::string& folder,
                                                             ProgramSet programs, Device device);

  // Plays and learns until a limit, then saves. Calls `on_iteration` after each iteration. The
  // results of an iteration that `stop` or the deadline interrupts are not saved. Some of them stay
  // in this object, so do not call Run again then: Resume the run.
  absl::Status Run(const RunLimits& limits,
                   const std::function<void(const v1::TrainMetrics&)>& on_iteration);

  const v1::TrainConfig& config() const { return config_; }
  const RunDirectory& directory() const { return directory_; }
  const ProgramSet& programs() const { return programs_; }
  const Network& network() const { return trained_.network(); }
  uint64_t iteration() const { return state_.iteration(); }
  uint64_t games() const { return state_.games(); }
  uint64_t updates() const { return trained_.step(); }
  // The updates of the run as it was saved, without those of an interrupted iteration. 0 before
  // Run.
  uint64_t saved_updates() const { return saved_updates_; }
  double seconds() const { return state_.seconds(); }
  const std::vector<ProgramProgress>& progress() const { return records_->progress(); }

 private:
  TrainingRun(RunLock lock, RunDirectory directory, v1::TrainConfig config, ProgramSet programs,
              TrainedNetwork trained);

  // The contents of a checkpoint and its games.
  struct Saved {
    uint64_t iteration = 0;
    Checkpoint checkpoint;
    std::vector<SharedTrajectory> games;
  };

  // training_run.cc
  absl::Status Demonstrate(const RunLimits& limits);
  // Iterate and Learn return false if a limit interrupted them.
  absl::StatusOr<bool> Iterate(const RunLimits& limits, v1::TrainMetrics& metrics);
  absl::StatusOr<bool> Learn(const RunLimits& limits, v1::TrainMetrics& metrics);
  absl::StatusOr<PlayedGames> Play(absl::Span<const GameTask> tasks, const RunLimits& limits,
                                   const std::shared_ptr<const NetworkSnapshot>& network,
                                   uint64_t network_step, v1::TrainMetrics& metrics) const;
  std::vector<GameTask> MakeTasks();
  void AddReanalyses(TaskMaker& maker) const;
  std::vector<std::optional<HbmShare>> TakeGames(std::vector<v1::Trajectory> games,
                                                 absl::Span<const GameTask> tasks);
  bool IsEvaluation() const;
  uint32_t threads() const;
  std::mt19937_64 RandomOf(uint64_t purpose) const;

  // training_state.cc
  absl::Status SetUp();
  absl::StatusOr<Saved> Capture() const;
  absl::Status Save(const Saved& saved);
  absl::Status Restore(const Checkpoint& checkpoint);  // state_ must be its state
  absl::Status CheckGames(absl::Span<const SharedTrajectory> games) const;
  absl::Status RestorePrograms();

  RunLock lock_;
  RunDirectory directory_;
  v1::TrainConfig config_;
  ProgramSet programs_;
  SearchConfig search_;
  TrajectoryBuffer replay_;
  TrainedNetwork trained_;
  std::unique_ptr<BatchMaker> batch_maker_;
  v1::TrainState state_;                   // counters; the rest is filled in by Capture
  uint64_t saved_iteration_ = 0;           // of the latest checkpoint
  uint64_t saved_updates_ = 0;             // set by Run
  std::optional<ProgramRecords> records_;  // set by SetUp
  Baselines learned_baselines_;            // of the last update; of no games before the first one
  Incumbents incumbents_;                  // of the best games in records_
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_TRAINING_RUN_H_
