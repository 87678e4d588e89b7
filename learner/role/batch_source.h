// Prepares batches ahead of need: draws positions, replays their games, and keeps a bounded queue
// full.

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
#include "absl/types/span.h"
#include "env/program_set.h"
#include "learner/batch_maker.h"
#include "learner/learning_batch.h"
#include "learner/role/game_book.h"
#include "learner/updater.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "replay/drawn_position.h"
#include "replay/return_units.h"

namespace mallocmuzero {

struct BatchSourceOptions {
  v1::LearnerOptions learner;
  BatchShape shape;             // of this process; learner.batch_size counts rows of all processes
  uint32_t queued_batches = 1;  // the most prepared ahead, besides those being made
  uint32_t threads = 1;

  // The number of best games of a program that each shard keeps. With 1, only a single best game of
  // each program is imitated, however many shards there are. The learner refuses rows of programs
  // that it no longer trains on. With 1, these are not drawn again: rows of the other programs'
  // best games take their places.
  uint32_t best_games = 0;
};

// Draws positions; see ReplaySampler::Draw.
using DrawPositions = std::function<absl::StatusOr<std::vector<DrawnPosition>>(
    v1::Selection selection, size_t count, absl::Duration timeout)>;

// The replay as a batch source uses it. Its functions are called from several threads.
struct PositionSource {
  DrawPositions draw;  // may block up to its timeout

  // Returns the N of the importance weights.
  std::function<uint64_t()> positions;

  // Sets priorities; see ReplaySampler::UpdatePriorities. Positions that cannot be learned from get
  // 0, so that they are hardly drawn again. Draws count for the rate limiter whether or not the
  // learner uses them.
  std::function<void(absl::Span<const DrawnPosition> drawn, absl::Span<const double> priorities)>
      prioritize;
};

// The channel of a cluster's learner. Owns options.threads threads. Thread-safe.
class BatchSource final : public BatchChannel {
 public:
  // Starts the threads. `programs` and `book` must outlive the source.
  BatchSource(const BatchSourceOptions& options, const ProgramSet& programs, GameBook& book,
              PositionSource replay);

  // Blocks until the threads have ended, up to about half a second, the timeout of a draw.
  ~BatchSource() override;
  BatchSource(const BatchSource&) = delete;
  BatchSource& operator=(const BatchSource&) = delete;

  // Takes the oldest batch. It never fails: batches that cannot be made are counted as refused
  // rows.
  absl::StatusOr<std::optional<LearningBatch>> Next(absl::Duration timeout) override;
  void SetPriorities(absl::Span<const DrawnPosition> drawn,
                     absl::Span<const double> errors) override;

  // Drops all batches that are queued or being made, because their baselines no longer hold.
  void DropQueued();

  // The number of batches in the queue.
  size_t depth() const;

  // The seconds that all threads together have spent waiting for draws, and making batches.
  double draw_seconds() const;
  double make_seconds() const;

  // The number of drawn rows that were not used, because their games are not of this run, and the
  // reason of the latest refusal (empty if there was none, or if batches are made again).
  uint64_t refused_rows() const;
  std::string last_refusal() const;

 private:
  void Work();
  void MakeBlock();
  void NoteBest(absl::Span<const DrawnPosition> rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ImitateTheBest(std::vector<DrawnPosition>& imitated);
  void ReplaceRefused(absl::Span<const DrawnPosition> refused, std::vector<DrawnPosition>& drawn);
  bool DrawRows(v1::Selection selection, size_t count, std::vector<DrawnPosition>& drawn);
  // Batches of a generation that has been dropped meanwhile do not enter the queue.
  void Enqueue(std::vector<LearningBatch> batches, uint64_t generation);
  bool Pause(absl::Duration duration) const;

  const BatchSourceOptions options_;
  const ProgramSet& programs_;
  GameBook& book_;
  const PositionSource replay_;

  // The game with the highest return that was drawn with selection BEST.
  struct BestGame {
    SharedTrajectory game;
    HbmShare total_return;
  };

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, BestGame> best_ ABSL_GUARDED_BY(mutex_);  // by program
  uint64_t replaced_rows_ ABSL_GUARDED_BY(mutex_) = 0;                       // by ReplaceRefused
  std::deque<LearningBatch> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;  // counts the calls of DropQueued
  double draw_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  double make_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t refused_rows_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_refusal_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_BATCH_SOURCE_H_
