// Batches made ahead: draws positions, replays their games, and keeps a bounded queue full.

#ifndef MALLOCMUZERO_LEARNER_ROLE_BATCH_SOURCE_H_
#define MALLOCMUZERO_LEARNER_ROLE_BATCH_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/role/game_book.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "replay/client/replay_sampler.h"

namespace mallocmuzero {

struct BatchSourceOptions {
  v1::LearnerOptions learner;
  uint32_t rows = 0;  // of a batch; learner.batch_size is that of all processes
  double importance_exponent = 0;
  uint32_t queued_batches = 1;  // made ahead at most, besides those being made
  uint32_t threads = 1;

  // Of a program, in each shard. With 1, one game of each is imitated, however many shards there
  // are.
  uint32_t best_games = 0;
};

// A batch in a block of several.
struct PreparedBatch {
  std::shared_ptr<UnrollBatch> block;
  size_t first = 0;  // row of the block, and so many rows from there
  size_t rows = 0;

  // The leading ones were drawn by priority, and want theirs back; their weights in `block` are
  // (1 / (N x probability)) ^ exponent / divided_by. The others are imitated.
  std::vector<SampledPosition> prioritized;
  double divided_by = 1;

  // The largest of those weights, undivided; 0: there are none.
  double LargestWeight() const;

  // Divides those weights, as they were at first, by `largest`.
  void DivideWeights(double largest);
};

// Where positions come from: ReplaySampler::Draw.
using DrawPositions = std::function<absl::StatusOr<std::vector<SampledPosition>>(
    v1::Selection selection, size_t count, absl::Duration timeout)>;

// Thread-safe.
class BatchSource {
 public:
  // `programs` and `book` must outlive it. `draw` may block for as long as it is told; `positions`
  // is the N of importance weights.
  BatchSource(const BatchSourceOptions& options, const ProgramSet& programs, GameBook& book,
              DrawPositions draw, std::function<uint64_t()> positions);

  // Ends within `draw`'s patience, half a second.
  ~BatchSource();

  // The oldest one, or none if there is none in time.
  std::optional<PreparedBatch> Next(absl::Duration timeout);

  // Drops all batches that were made, or are being made, by now: by baselines that no longer hold.
  void DropQueued();

  // Batches in the queue.
  size_t depth() const;

  // Time that all threads have spent waiting for draws and making batches, seconds.
  double draw_seconds() const;
  double make_seconds() const;

  // Rows that were drawn and not used, as their games were not of this run. Why, the last time;
  // empty once batches are made again.
  uint64_t refused_rows() const;
  std::string last_refusal() const;

 private:
  void Work();
  bool MakeBlock();
  void ImitateTheBest(std::vector<SampledPosition>& imitated);
  bool DrawRows(v1::Selection selection, size_t count, std::vector<SampledPosition>& drawn);
  // Batches of a generation that was dropped meanwhile are let go.
  void Enqueue(const std::shared_ptr<UnrollBatch>& block, size_t batches,
               const std::vector<SampledPosition>& prioritized, uint64_t generation);
  bool Pause(absl::Duration duration) const;

  const BatchSourceOptions options_;
  const ProgramSet& programs_;
  GameBook& book_;
  const DrawPositions draw_;
  const std::function<uint64_t()> positions_;

  // The best game that was drawn as one of the best, and what it brought.
  struct BestGame {
    std::shared_ptr<const v1::Trajectory> game;
    double total_return = 0;
  };

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, BestGame> best_ ABSL_GUARDED_BY(mutex_);  // by program
  std::deque<PreparedBatch> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // of batches; goes up when they are dropped
  double draw_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  double make_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_refusal_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_BATCH_SOURCE_H_
