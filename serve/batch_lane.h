// Evaluates the steps of several searches in common batches of the network.

#ifndef MALLOCMUZERO_SERVE_BATCH_LANE_H_
#define MALLOCMUZERO_SERVE_BATCH_LANE_H_

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// The batches of a lane, for metrics.
struct LaneBatch {
  uint32_t searches = 0;  // that have rows in it
  uint32_t rows = 0;      // positions and latent states
};

// One model and the threads that use it. A thread hands in its rows and waits for their results.
// Whenever no batch runs, one of the waiting threads evaluates the rows of all of them. So a lane
// needs no thread of its own, and a single search does not wait for another thread.
//
//   thread A   rows -> evaluates A .......... tree of A, rows -> waits ......... results
//   thread B          rows -> waits ........ evaluates B and C .... tree of B, rows -> ...
//   thread C              rows -> waits ...................... results
//
// The number of threads that wait is the number of searches, so the queue is bounded by them.
// Thread-safe.
class BatchLane {
 public:
  // The slots of `model` are divided equally among `places` searches. A thread waits up to `wait`
  // for the rows of other searches before it evaluates a batch. `batched` is called after each
  // batch, by the thread that evaluated it.
  BatchLane(std::unique_ptr<LatentModel> model, uint32_t places, absl::Duration wait,
            std::function<void(const LaneBatch&)> batched);
  BatchLane(const BatchLane&) = delete;
  BatchLane& operator=(const BatchLane&) = delete;

  // A search enters the lane: returns its place, whose slots are [place x slots, (place + 1) x
  // slots). There must be a free place. Leave gives the place back.
  uint32_t Enter() ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(uint32_t place) ABSL_LOCKS_EXCLUDED(mutex_);

  uint32_t free_places() const ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t slots() const { return slots_; }
  const LatentModel& model() const { return *model_; }

  // As in LatentModel, with slots of the search's own range, counted from 0. Blocks until the
  // results are there. If the model throws, each search of the batch gets what it has thrown.
  void EvaluateRoots(uint32_t place, absl::Span<const float> observations,
                     absl::Span<const uint32_t> roots, const Evaluations& out)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void EvaluateSteps(uint32_t place, absl::Span<const LatentStep> steps, const Evaluations& out)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The rows of one search: roots with observations, or steps. They live on the stack of the
  // waiting thread.
  struct Rows {
    uint32_t first_slot = 0;
    absl::Span<const float> observations;
    absl::Span<const uint32_t> roots;
    absl::Span<const LatentStep> steps;
    Evaluations out;

    // Guarded by mutex_.
    bool done = false;
    std::exception_ptr failure;  // what the evaluation of the batch has thrown

    size_t size() const { return roots.size() + steps.size(); }
  };

  // Waits until a batch with these rows was evaluated, by this thread or by another.
  void Evaluate(Rows& rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // Evaluates a batch. Only the thread that set busy_ calls these.
  void EvaluateBatch(absl::Span<Rows* const> batch);
  void EvaluateRootsOf(absl::Span<Rows* const> batch);
  void EvaluateStepsOf(absl::Span<Rows* const> batch);

  // The memory for the results of a batch, and the copy of the results to the searches.
  Evaluations Results(size_t rows);
  void HandOut(absl::Span<Rows* const> batch, const Evaluations& results) const;

  const std::unique_ptr<LatentModel> model_;
  const uint32_t slots_;
  const absl::Duration wait_;
  const std::function<void(const LaneBatch&)> batched_;

  mutable absl::Mutex mutex_;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mutex_);
  uint32_t entered_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Rows*> queue_ ABSL_GUARDED_BY(mutex_);  // not yet in a batch
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;         // a thread evaluates a batch

  // The memory of a batch; it belongs to the thread that set busy_.
  std::vector<Rows*> batch_;
  std::vector<Rows*> part_;
  std::vector<float> observations_;
  std::vector<uint32_t> roots_;
  std::vector<LatentStep> steps_;
  std::vector<float> values_;
  std::vector<float> rewards_;
  std::vector<float> logits_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_BATCH_LANE_H_
