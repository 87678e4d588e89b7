// The state of the optimiser as checkpoints store it. Only files of the learner may include
// this header, because it includes LibTorch's.

#ifndef MALLOCMUZERO_LEARNER_OPTIMIZER_STATE_H_
#define MALLOCMUZERO_LEARNER_OPTIMIZER_STATE_H_

// ivalue.h comes first, as in model/modules.h.
#include <ATen/core/ivalue.h>
#include <torch/nn/module.h>
#include <torch/optim/adamw.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "model/tensors.h"
#include "model/torch_version.h"

namespace mallocmuzero {

// The key of a parameter's state in LibTorch's optimiser.
inline auto StateKey(const torch::Tensor& parameter) {
#if MALLOCMUZERO_TORCH_AT_LEAST(2, 0)
  return static_cast<void*>(parameter.unsafeGetTensorImpl());
#else
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
#endif
}

// For each parameter of `net` that has got an update: the number of its updates and its moments,
// as optimizer/PARAMETER/PART.
std::vector<NamedTensor> ExportAdamW(const torch::nn::Module& net,
                                     const torch::optim::AdamW& optimizer);

// The way back, with the moments on the device of the parameters. InvalidArgument, with nothing
// changed, if the state lacks a parameter of `net` or does not fit the parameters. Parameters of a
// consistency head may be missing, because a head may be new to a run. Those of the dynamics may be
// missing, because they get no gradient in a run without unrolled steps.
absl::Status ImportAdamW(absl::Span<const NamedTensor> state, const torch::nn::Module& net,
                         torch::optim::AdamW& optimizer);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_OPTIMIZER_STATE_H_
