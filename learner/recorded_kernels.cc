#include "learner/recorded_kernels.h"

#include <cassert>

#include "model/torch_version.h"

#if defined(USE_CUDA) && MALLOCMUZERO_TORCH_AT_LEAST(2, 4)
#define MALLOCMUZERO_RECORDS_KERNELS
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace mallocmuzero {

#ifdef MALLOCMUZERO_RECORDS_KERNELS

namespace {

// Makes a stream the current one of this thread while it lives. LibTorch's own guard would need the
// CUDA runtime at link time.
class OnStream {
 public:
  explicit OnStream(const c10::cuda::CUDAStream& stream)
      : before_(c10::cuda::getCurrentCUDAStream()) {
    c10::cuda::setCurrentCUDAStream(stream);
  }
  ~OnStream() { c10::cuda::setCurrentCUDAStream(before_); }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  const c10::cuda::CUDAStream before_;
};

}  // namespace

struct RecordedKernels::Graph {
  at::cuda::CUDAGraph graph;
};

bool RecordedKernels::AreOf(torch::Device device) { return device.is_cuda(); }

RecordedKernels::RecordedKernels() : graph_(std::make_unique<Graph>()) {}

void RecordedKernels::Record(const std::function<void()>& work) {
  c10::cuda::device_synchronize();
  // The default stream cannot be recorded.
  const OnStream on_stream(c10::cuda::getStreamFromPool());
  // Only calls of this thread must suit a recording. NCCL and self-play have threads of their own.
  graph_->graph.capture_begin(/*pool=*/{0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    work();
  } catch (...) {
    try {
      graph_->graph.capture_end();
    } catch (...) {  // The first exception says what is wrong.
    }
    throw;
  }
  graph_->graph.capture_end();
}

void RecordedKernels::Launch() { graph_->graph.replay(); }

#else

struct RecordedKernels::Graph {};

bool RecordedKernels::AreOf(torch::Device) { return false; }

RecordedKernels::RecordedKernels() = default;

void RecordedKernels::Record(const std::function<void()>&) { assert(false); }

void RecordedKernels::Launch() { assert(false); }

#endif

RecordedKernels::~RecordedKernels() = default;

}  // namespace mallocmuzero
