// The gradients of an update. Only files of the learner may include this header, because it
// includes LibTorch's.

#ifndef MALLOCMUZERO_LEARNER_GRADIENTS_H_
#define MALLOCMUZERO_LEARNER_GRADIENTS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "learner/batch_maker.h"
#include "learner/losses.h"
#include "learner/recorded_kernels.h"

namespace mallocmuzero {

// Sets the gradients of a network's parameters. On a GPU it records the kernels of the third update
// and launches them together from then on. It records again when the shape of the batches changes.
class Gradients {
 public:
  // `network` must outlive it and stay on `device`.
  Gradients(Network& network, const v1::LearnerOptions& options, torch::Device device);

  // Sets the gradients for the rows [first, first + rows) of a batch. Returns the report of
  // LossFunction on the CPU, when the device has computed it. Throws LibTorch's exceptions.
  torch::Tensor Set(const UnrollBatch& batch, size_t first, size_t rows);

 private:
  // The kernels for batches of one shape, with the tensors that they read and write.
  struct Recording {
    BatchTensors inputs;
    RecordedKernels kernels;
    torch::Tensor report;
    std::vector<torch::Tensor> gradients;  // in the order of parameters_
  };

  torch::Tensor SetOneByOne(const BatchTensors& rows);
  bool Record(const BatchTensors& rows);
  torch::Tensor Replay(const BatchTensors& rows);
  void Forget();

  LossFunction loss_;
  torch::Device device_;
  std::vector<torch::Tensor> parameters_;
  int updates_before_recording_;  // -1: kernels cannot be recorded
  std::unique_ptr<Recording> recording_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_GRADIENTS_H_
