#include "serve/batch_lane.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <utility>

#include "base/size32.h"

namespace mallocmuzero {
namespace {

void Append(absl::Span<const float> from, std::vector<float>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

BatchLane::BatchLane(std::unique_ptr<LatentModel> model, uint32_t places, absl::Duration wait,
                     std::function<void(const LaneBatch&)> batched)
    : model_(std::move(model)),
      slots_(model_->slots() / places),
      wait_(wait),
      batched_(std::move(batched)) {
  for (uint32_t place = places; place > 0; --place) free_.push_back(place - 1);
}

uint32_t BatchLane::Enter() {
  const absl::MutexLock lock(&mutex_);
  assert(!free_.empty());
  const uint32_t place = free_.back();
  free_.pop_back();
  ++entered_;
  return place;
}

void BatchLane::Leave(uint32_t place) {
  const absl::MutexLock lock(&mutex_);
  free_.push_back(place);
  --entered_;
}

uint32_t BatchLane::free_places() const {
  const absl::MutexLock lock(&mutex_);
  return Size32(free_);
}

void BatchLane::EvaluateRoots(uint32_t place, absl::Span<const float> observations,
                              absl::Span<const uint32_t> roots, const Evaluations& out) {
  if (roots.empty()) return;
  Rows rows = {.first_slot = place * slots_,
               .observations = observations,
               .roots = roots,
               .steps = {},
               .out = out};
  Evaluate(rows);
}

void BatchLane::EvaluateSteps(uint32_t place, absl::Span<const LatentStep> steps,
                              const Evaluations& out) {
  if (steps.empty()) return;
  Rows rows = {
      .first_slot = place * slots_, .observations = {}, .roots = {}, .steps = steps, .out = out};
  Evaluate(rows);
}

void BatchLane::Evaluate(Rows& rows) {
  {
    const absl::MutexLock lock(&mutex_);
    queue_.push_back(&rows);
    const auto finished_or_idle = [this, &rows]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return rows.done || !busy_;
    };
    mutex_.Await(absl::Condition(&finished_or_idle));
    if (rows.done) {
      if (rows.failure != nullptr) std::rethrow_exception(rows.failure);
      return;
    }
    busy_ = true;
    // More rows make a better batch. All searches of the lane may be waiting already.
    const auto complete = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return queue_.size() >= entered_;
    };
    if (wait_ > absl::ZeroDuration()) {
      mutex_.AwaitWithTimeout(absl::Condition(&complete), wait_);
    }
    batch_.swap(queue_);
  }
  // LibTorch throws what goes wrong on a device. No search of the batch has results then, and each
  // of them has to know.
  std::exception_ptr failure;
  try {
    EvaluateBatch(batch_);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const absl::MutexLock lock(&mutex_);
    for (Rows* each : batch_) {
      each->done = true;
      each->failure = failure;
    }
    batch_.clear();
    busy_ = false;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

void BatchLane::EvaluateBatch(absl::Span<Rows* const> batch) {
  LaneBatch figures;
  for (const bool roots : {true, false}) {
    part_.clear();
    for (Rows* rows : batch) {
      if (rows->roots.empty() != roots) part_.push_back(rows);
    }
    if (part_.empty()) continue;
    roots ? EvaluateRootsOf(part_) : EvaluateStepsOf(part_);
  }
  figures.searches = Size32(batch);
  for (const Rows* rows : batch) figures.rows += Size32(*rows);
  if (batched_) batched_(figures);
}

void BatchLane::EvaluateRootsOf(absl::Span<Rows* const> batch) {
  observations_.clear();
  roots_.clear();
  for (const Rows* rows : batch) {
    Append(rows->observations, observations_);
    for (const uint32_t root : rows->roots) roots_.push_back(rows->first_slot + root);
  }
  const Evaluations results = Results(roots_.size());
  model_->EvaluateRoots(observations_, roots_, results);
  HandOut(batch, results);
}

void BatchLane::EvaluateStepsOf(absl::Span<Rows* const> batch) {
  steps_.clear();
  for (const Rows* rows : batch) {
    for (const LatentStep& step : rows->steps) {
      steps_.push_back({.parent = rows->first_slot + step.parent,
                        .child = rows->first_slot + step.child,
                        .action = step.action});
    }
  }
  const Evaluations results = Results(steps_.size());
  model_->EvaluateSteps(steps_, results);
  HandOut(batch, results);
}

Evaluations BatchLane::Results(size_t rows) {
  const size_t logits = rows * model_->actions();
  if (values_.size() < rows) {
    values_.resize(rows);
    rewards_.resize(rows);
    logits_.resize(logits);
  }
  return {.values = absl::MakeSpan(values_).first(rows),
          .rewards = absl::MakeSpan(rewards_).first(rows),
          .logits = absl::MakeSpan(logits_).first(logits)};
}

void BatchLane::HandOut(absl::Span<Rows* const> batch, const Evaluations& results) const {
  size_t row = 0;
  const auto copy = [](absl::Span<const float> from, size_t first, absl::Span<float> to) {
    std::copy_n(from.begin() + first, to.size(), to.begin());
  };
  for (const Rows* rows : batch) {
    copy(results.values, row, rows->out.values);
    copy(results.rewards, row, rows->out.rewards);
    copy(results.logits, row * model_->actions(), rows->out.logits);
    row += rows->size();
  }
}

}  // namespace mallocmuzero
