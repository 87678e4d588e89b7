// One training run: self-play and learning in turn, in one process, that can be stopped and
// resumed.

#ifndef MALLOCMUZERO_TRAIN_TRAINING_RUN_H_
#define MALLOCMUZERO_TRAIN_TRAINING_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/self_play.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/learner.h"
#include "learner/program_progress.h"
#include "learner/run_directory.h"
#include "learner/run_lock.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "replay/trajectory_buffer.h"
#include "train/player_pool.h"

namespace mallocmuzero {

// When Run returns.
struct RunLimits {
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t iterations = UINT64_MAX;  // of the run, those of earlier sittings counted
  std::function<bool()> stop;        // asked often, on any thread; true: as soon as possible
};

// In each iteration, games are played with the weights that the last one left while the learner
// trains on the games before, so that neither waits for the other and yet a run is a function of
// its config, however long each takes and however often it was stopped and resumed. (Another number
// of threads makes other batches, which round otherwise.) Not thread-safe.
class TrainingRun {
 public:
  // A new run in a folder that has none, with fresh weights or those of a network of the same
  // config. Errors name the config's field or the file. A folder has one TrainingRun at a time:
  // FailedPrecondition, here and below, if another process has one.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Start(const std::string& folder,
                                                            const v1::TrainConfig& config,
                                                            ProgramSet programs, Device device,
                                                            const Network* from = nullptr);

  // Goes on from a run's last checkpoint; from fresh weights if the run was ended before it had
  // one. InvalidArgument if the programs are not those of the run, FailedPrecondition if its
  // checkpoint is gone or is that of a cluster's learner. What is refused stays as it is.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Resume(const std::string& folder,
                                                             ProgramSet programs, Device device);

  // Plays and learns until a limit, then saves. `on_iteration` is called after each iteration. An
  // iteration that `stop` or the deadline cuts short has not been: call Run once, then Resume.
  absl::Status Run(const RunLimits& limits,
                   const std::function<void(const v1::TrainMetrics&)>& on_iteration);

  const v1::TrainConfig& config() const { return config_; }
  const RunDirectory& directory() const { return directory_; }
  const ProgramSet& programs() const { return programs_; }
  const Network& network() const { return *network_; }
  uint64_t iteration() const { return state_.iteration(); }
  uint64_t games() const { return state_.games(); }
  uint64_t updates() const { return learner_->step(); }
  double seconds() const { return state_.seconds(); }
  const std::vector<ProgramProgress>& progress() const { return progress_; }

 private:
  TrainingRun(RunLock lock, RunDirectory directory, v1::TrainConfig config, ProgramSet programs);

  // All that a checkpoint and its games hold.
  struct Saved {
    uint64_t iteration = 0;
    Checkpoint checkpoint;
    std::vector<SharedTrajectory> games;
  };

  struct TrainedNetwork {
    Device device = Device::kCpu;
    std::unique_ptr<Network> network;
    std::unique_ptr<Learner> learner;  // of that network
  };

  // training_run.cc
  absl::Status Demonstrate(const RunLimits& limits);
  // These two: false if a limit cut it short.
  absl::StatusOr<bool> Iterate(const RunLimits& limits, v1::TrainMetrics& metrics);
  absl::StatusOr<bool> Learn(const RunLimits& limits, v1::TrainMetrics& metrics);
  absl::StatusOr<PlayedGames> Play(absl::Span<const GameTask> tasks, const RunLimits& limits,
                                   const std::shared_ptr<const NetworkSnapshot>& network,
                                   uint64_t network_step, v1::TrainMetrics& metrics) const;
  std::vector<GameTask> MakeTasks() const;
  void TakeGames(std::vector<v1::Trajectory> games, absl::Span<const GameTask> tasks,
                 v1::TrainMetrics& metrics);
  void Describe(v1::TrainMetrics& metrics) const;
  bool IsEvaluation() const;
  uint32_t threads() const;
  std::mt19937_64 RandomOf(uint64_t purpose) const;

  // training_state.cc
  static absl::StatusOr<TrainedNetwork> MakeLearner(const v1::TrainConfig& config, Device device);
  absl::Status SetUp(TrainedNetwork made);
  Saved Capture() const;
  absl::Status Save(const Saved& saved);
  absl::Status Restore(const Checkpoint& checkpoint);  // state_ is its state already
  absl::Status CheckGames(absl::Span<const SharedTrajectory> games) const;
  absl::Status RestorePrograms();

  RunLock lock_;
  RunDirectory directory_;
  v1::TrainConfig config_;
  ProgramSet programs_;
  SearchConfig search_;
  EvaluationOptions evaluation_;
  Baselines baselines_;
  TrajectoryBuffer replay_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<BatchMaker> batches_;
  v1::TrainState state_;          // counters; the rest is filled in by Capture
  uint64_t saved_iteration_ = 0;  // of the latest checkpoint
  std::vector<ProgramProgress> progress_;
  std::vector<double> written_returns_;  // that best/ has mappings of; NaN: not known
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_TRAINING_RUN_H_
