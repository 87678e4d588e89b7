#include "learner/optimizer_step.h"

#include <ATen/ATen.h>
#include <torch/nn/utils/clip_grad.h>

#include <cassert>
#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "learner/optimizer_state.h"
#include "model/torch_version.h"

namespace mallocmuzero {

using torch::optim::AdamW;

double ClipAndStep(AdamW& optimizer, double max_norm) {
  const double norm =
      torch::nn::utils::clip_grad_norm_(optimizer.param_groups()[0].params(), max_norm);
  // A gradient that is not finite must not change the weights.
  if (std::isfinite(norm)) optimizer.step();
  return norm;
}

#if MALLOCMUZERO_TORCH_AT_LEAST(2, 4)

namespace {

using torch::optim::AdamWOptions;
using torch::optim::AdamWParamState;

// The state of a parameter. A new one is that before the first update.
AdamWParamState& StateOf(const torch::Tensor& parameter, AdamW& optimizer) {
  std::unique_ptr<torch::optim::OptimizerParamState>& state =
      optimizer.state()[StateKey(parameter)];
  if (state == nullptr) {
    auto fresh = std::make_unique<AdamWParamState>();
    fresh->exp_avg(torch::zeros_like(parameter));
    fresh->exp_avg_sq(torch::zeros_like(parameter));
    state = std::move(fresh);
  }
  return static_cast<AdamWParamState&>(*state);
}

}  // namespace

bool HasJointStep() { return true; }

double ClipAndStepJointly(AdamW& optimizer, double max_norm) {
  const torch::NoGradGuard no_gradient;
  assert(optimizer.param_groups().size() == 1);
  auto& group = optimizer.param_groups()[0];
  std::vector<torch::Tensor> parameters, gradients;
  for (const torch::Tensor& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    parameters.push_back(parameter);
    gradients.push_back(parameter.grad());
  }
  const torch::Tensor norm = at::stack(at::_foreach_norm(gradients)).norm();
  at::_foreach_mul_(gradients, (max_norm / (norm + 1e-6)).clamp_max(1.0));
  const double norm_before = norm.item<double>();
  if (!std::isfinite(norm_before)) return norm_before;

  std::vector<torch::Tensor> means, squares, updates;
  absl::flat_hash_map<int64_t, torch::Tensor> tensor_of;  // by number of updates
  for (const torch::Tensor& parameter : parameters) {
    AdamWParamState& state = StateOf(parameter, optimizer);
    state.step(state.step() + 1);
    torch::Tensor& update = tensor_of[state.step()];
    if (!update.defined()) {
      update = torch::full({}, static_cast<double>(state.step()), parameter.options());
    }
    means.push_back(state.exp_avg());
    squares.push_back(state.exp_avg_sq());
    updates.push_back(update);
  }
  const auto& options = static_cast<const AdamWOptions&>(group.options());
  const auto& [beta1, beta2] = options.betas();
  at::_fused_adamw_(parameters, gradients, means, squares, /*max_exp_avg_sqs=*/{}, updates,
                    options.lr(), beta1, beta2, options.weight_decay(), options.eps(),
                    /*amsgrad=*/false, /*maximize=*/false);
  return norm_before;
}

#else

bool HasJointStep() { return false; }

double ClipAndStepJointly(AdamW& optimizer, double max_norm) {
  return ClipAndStep(optimizer, max_norm);
}

#endif

}  // namespace mallocmuzero
