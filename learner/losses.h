// The losses of the unrolled networks. Only files of the learner may include this header, because
// it includes LibTorch's.

#ifndef MALLOCMUZERO_LEARNER_LOSSES_H_
#define MALLOCMUZERO_LEARNER_LOSSES_H_

// ivalue.h comes first, as in model/modules.h.
#include <ATen/core/ivalue.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "learner/batch_maker.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/modules.h"
#include "model/network.h"
#include "model/value_codec.h"

namespace mallocmuzero {

// Rows of a batch as tensors, with the shapes of UnrollBatch's arrays.
struct BatchTensors {
  torch::Tensor observations;
  torch::Tensor actions;
  torch::Tensor rewards;
  torch::Tensor values;
  torch::Tensor policies;
  torch::Tensor weights;
  torch::Tensor next_observations;  // undefined unless the consistency is trained, as `reached`
  torch::Tensor reached;

  // Tensors over the memory of `batch`, which must outlive them, of the rows [first, first + rows).
  static BatchTensors Over(const UnrollBatch& batch, size_t first, size_t rows, bool with_next);

  BatchTensors To(torch::Device device) const;

  // Copies the rows of `from`, which has the same shapes.
  void CopyFrom(const BatchTensors& from);

  // Whether the other batch has as many rows and steps.
  bool HasShapesOf(const BatchTensors& other) const;
};

// Computes the losses that Learner minimises, and their gradients.
class LossFunction {
 public:
  // The numbers at the begin of a report. The error of each row's first value follows them. kTotal
  // is the sum that is minimised, and the others are its parts without their weights.
  enum Part : uint8_t { kTotal, kPolicy, kValue, kReward, kConsistency, kParts };

  // `network` must outlive it and stay on `device`.
  LossFunction(Network& network, const v1::LearnerOptions& options, torch::Device device);

  // Adds the gradients of the mean loss to those of the network's parameters. Returns a report
  // [kParts + rows], float32, on the device. Waits for nothing.
  torch::Tensor AddGradients(const BatchTensors& rows);

  bool is_consistent() const { return consistency_weight_ > 0; }

 private:
  struct Losses;
  struct Unrolled;

  Losses Compute(const BatchTensors& rows);
  Unrolled Unroll(const torch::Tensor& observations, const torch::Tensor& actions);
  torch::Tensor Consistency(const BatchTensors& rows, const std::vector<torch::Tensor>& latents);

  MuZeroNet net_;
  ValueCodec codec_;
  torch::Device device_;
  torch::Tensor centers_;  // of the bins
  float value_weight_;
  float reward_weight_;
  float consistency_weight_;
  bool is_mixed_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_LOSSES_H_
