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
#include "base/check_field.h"
#include "learner/batch_maker.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/network.h"
#include "model/tensors.h"

namespace mallocmuzero {

class DataParallel;  // learner/data_parallel.h

// The allowed ranges of the numeric fields of LearnerOptions.
absl::Span<const FieldRange> LearnerOptionRanges();

// The options with wrong values, besides those out of range.
std::vector<WrongField> WrongLearnerOptions(const v1::LearnerOptions& options);

// The first wrong option as InvalidArgument, which names it as "learner.FIELD".
absl::Status CheckLearnerOptions(const v1::LearnerOptions& options);

// The learning rate of the update that follows `step` updates. It rises over warmup_updates and
// falls along half a cosine (Loshchilov and Hutter, 2017) over decay_updates.
double LearningRate(const v1::LearnerOptions& options, uint64_t step);

// Whether values are ranked; and the share of games to beat, which is 0 if they are not.
bool IsRanked(const v1::LearnerOptions& options);
double RankedQuantile(const v1::LearnerOptions& options);

// InvalidArgument, naming the network's field, if its value bins do not suit the learner's targets.
// Ranked values need a nearly linear scale: on a logarithmic one, a game that is won as often as
// lost would not have the mean 0.
absl::Status CheckValueTarget(const v1::LearnerOptions& options, const v1::NetworkConfig& network);

// The result of an update. Losses are means over the rows of the batch, each row times its weight.
struct UpdateResult {
  double total_loss = 0;   // the sum that is minimised, without weight decay
  double policy_loss = 0;  // cross-entropy, of the steps that have a target
  double value_loss = 0;   // cross-entropy, as reward_loss
  double reward_loss = 0;
  std::optional<double> consistency_loss;  // negative cosine similarity; none if it is off
  double gradient_norm = 0;                // before clipping
  double learning_rate = 0;

  // |predicted - target| of each row's first value, in units of NetworkValue: the new priority of
  // the position.
  std::vector<float> value_errors;
};

// AdamW over the losses of K unrolled steps (Schrittwieser et al., appendix G). The first position
// counts 1 and each unrolled step 1 / K. The gradient is halved at each step of the dynamics. With
// a consistency_weight, the latent states that the dynamics reach are also trained to be like those
// of the positions reached in the game. Not thread-safe. On one thread of LibTorch, the same
// updates give the same weights.
class Learner {
 public:
  // Trains `network`, which must outlive it, on a device. Adds a consistency head to the network if
  // the options train one. InvalidArgument if the options are out of range or there is no such
  // device; ResourceExhausted if the device has too little memory.
  static absl::StatusOr<std::unique_ptr<Learner>> Create(Network& network,
                                                         const v1::LearnerOptions& options,
                                                         Device device);
  ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  // One update from the rows [first, first + rows) of a batch.
  //
  // With `processes`, which may be null, several processes make the update together, each with the
  // same number of rows. The weights change as if one process had all rows. Losses are those of all
  // rows; value_errors are those of this process's rows.
  //
  // Errors: Unavailable if `processes` has lost one, ResourceExhausted if the device has too little
  // memory for the rows. Then no weight has changed. Internal if the device failed, or had too
  // little memory for the step of the optimiser. Then the weights may have changed in part, and
  // must not be used.
  absl::StatusOr<UpdateResult> Update(const UnrollBatch& batch, size_t first, size_t rows,
                                      DataParallel* processes = nullptr);

  // The number of updates so far.
  uint64_t step() const { return step_; }

  // The state of the optimiser as named tensors, and the way back. InvalidArgument, with nothing
  // changed, if the state belongs to other networks.
  std::vector<NamedTensor> ExportOptimizer() const;
  absl::Status ImportOptimizer(absl::Span<const NamedTensor> state, uint64_t step);

 private:
  struct Torch;  // learner.cc

  UpdateResult ComputeGradients(const UnrollBatch& batch, size_t first, size_t rows);
  absl::Status Average(DataParallel& processes, UpdateResult& result);
  void Step(UpdateResult& result);

  Learner(Network& network, const v1::LearnerOptions& options, Device device);

  v1::LearnerOptions options_;
  uint64_t step_ = 0;
  std::unique_ptr<Torch> torch_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_LEARNER_H_
