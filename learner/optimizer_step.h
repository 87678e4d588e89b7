// One step of the optimiser. Only files of the learner may include this header, because it includes
// LibTorch's.

#ifndef MALLOCMUZERO_LEARNER_OPTIMIZER_STEP_H_
#define MALLOCMUZERO_LEARNER_OPTIMIZER_STEP_H_

// ivalue.h comes first, as in model/modules.h.
#include <ATen/core/ivalue.h>
#include <torch/optim/adamw.h>

namespace mallocmuzero {

// Scales the gradients so that their norm is at most `max_norm`, and moves the parameters by them
// (Loshchilov and Hutter, 2019). Returns the norm before, for which it waits. If that is not
// finite, no parameter changes.
double ClipAndStep(torch::optim::AdamW& optimizer, double max_norm);

// The same, with a few kernels for all parameters instead of a dozen for each. The results may
// differ in the last digits. `optimizer` has one group of parameters, on one device. Needs LibTorch
// 2.4 or newer, on which HasJointStep is true.
double ClipAndStepJointly(torch::optim::AdamW& optimizer, double max_norm);
bool HasJointStep();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_OPTIMIZER_STEP_H_
