// Trains the networks, one batch at a time. Without LibTorch's headers.

#ifndef MALLOCMUZERO_LEARNER_LEARNER_H_
#define MALLOCMUZERO_LEARNER_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "learner/batch_maker.h"
#include "learner/check_field.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/network.h"
#include "model/tensors.h"

namespace mallocmuzero {

class DataParallel;  // learner/data_parallel.h

// What the numbers of LearnerOptions may be, wherever they are given.
absl::Span<const FieldRange> LearnerOptionRanges();

// InvalidArgument, naming the field, if such learning cannot be.
absl::Status CheckLearnerOptions(const v1::LearnerOptions& options);

// Of the update that follows `step` others: rises over warmup_updates; falls along half a cosine
// (Loshchilov and Hutter, 2017) over decay_updates.
double LearningRate(const v1::LearnerOptions& options, uint64_t step);

// Whether values are ranked, and the share of games to beat; 0 if they are not.
bool IsRanked(const v1::LearnerOptions& options);
double RankedQuantile(const v1::LearnerOptions& options);

// InvalidArgument, naming the network's field, if its values cannot be what the learner's targets
// are: on a logarithmic scale, a game won as often as lost would not count as much as it does.
absl::Status CheckValueTarget(const v1::LearnerOptions& options, const v1::NetworkConfig& network);

// Means over the rows of a batch, each by its weight.
struct UpdateResult {
  double total_loss = 0;   // what was minimised, weight decay aside
  double policy_loss = 0;  // cross-entropy, over the steps that have a target
  double value_loss = 0;   // cross-entropy, as the next
  double reward_loss = 0;
  std::optional<double> consistency_loss;  // negative cosine similarity; none: not trained on
  double gradient_norm = 0;                // before it was clipped
  double learning_rate = 0;

  // |predicted - target| of each row's first value, in units of the baseline: what the position is
  // a surprise by.
  std::vector<float> value_errors;
};

// AdamW over the losses of K unrolled steps (Schrittwieser et al., appendix G): the first position
// counts fully, each unrolled step 1 / K; the gradient is halved at each step of the dynamics. With
// a consistency_weight, latent states are also drawn to those of the positions really reached. Not
// thread-safe. The same updates give the same weights where LibTorch computes on one thread.
class Learner {
 public:
  // Trains `network`, which must outlive it, on a device; gives it a consistency head if that is
  // trained. InvalidArgument if the options are out of range or the device is not there.
  static absl::StatusOr<std::unique_ptr<Learner>> Create(Network& network,
                                                         const v1::LearnerOptions& options,
                                                         Device device);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // One update from the rows [first, first + rows) of a batch.
  UpdateResult Update(const UnrollBatch& batch, size_t first, size_t rows);

  // The same by several processes, each with as many rows: all make the update that one would make
  // of all rows, and get the losses of all; value_errors are those of the own rows. An error is
  // that of `processes`; then nothing has changed.
  absl::StatusOr<UpdateResult> Update(const UnrollBatch& batch, size_t first, size_t rows,
                                      DataParallel& processes);

  // Updates so far.
  uint64_t step() const { return step_; }

  // What the optimiser keeps, by name, and back. InvalidArgument, with nothing changed, if it is
  // not of these networks.
  std::vector<NamedTensor> ExportOptimizer() const;
  absl::Status ImportOptimizer(absl::Span<const NamedTensor> state, uint64_t step);

 private:
  struct Torch;  // learner.cc

  UpdateResult ComputeGradients(const UnrollBatch& batch, size_t first, size_t rows);
  void Step(UpdateResult& result);

  Learner(Network& network, const v1::LearnerOptions& options, Device device);

  v1::LearnerOptions options_;
  uint64_t step_ = 0;
  std::unique_ptr<Torch> torch_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_LEARNER_H_
