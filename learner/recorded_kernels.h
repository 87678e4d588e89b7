// Kernels of a GPU that are launched together. Only files of the learner may include this header,
// because it includes LibTorch's.

#ifndef MALLOCMUZERO_LEARNER_RECORDED_KERNELS_H_
#define MALLOCMUZERO_LEARNER_RECORDED_KERNELS_H_

// ivalue.h comes first, as in model/modules.h.
#include <ATen/core/ivalue.h>
#include <torch/types.h>

#include <functional>
#include <memory>

namespace mallocmuzero {

// Records the kernels of some work as a CUDA graph. An update of the learner has hundreds of small
// kernels, and the processor takes longer to launch them one by one than the GPU takes to run them.
// Not thread-safe.
class RecordedKernels {
 public:
  // Whether this LibTorch can record the kernels of a device.
  static bool AreOf(torch::Device device);

  RecordedKernels();
  ~RecordedKernels();
  RecordedKernels(const RecordedKernels&) = delete;
  RecordedKernels& operator=(const RecordedKernels&) = delete;

  // Records the kernels that `work` launches, without running them. The work must have run before,
  // so that libraries have what they make at their first use, and must not wait for the device. Its
  // tensors keep their memory until this object ends. Throws LibTorch's exceptions; then this
  // object is of no use any more.
  void Record(const std::function<void()>& work);

  // Runs the kernels on the tensors of Record, in the order of the current stream. Waits for
  // nothing.
  void Launch();

 private:
  struct Graph;  // recorded_kernels.cc

  std::unique_ptr<Graph> graph_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RECORDED_KERNELS_H_
