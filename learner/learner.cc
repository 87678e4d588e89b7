#include "learner/learner.h"

// These come first: the next headers use their declarations, and clang needs the full definition of
// IValue where other headers only declare it.
#include <ATen/core/ivalue.h>
#include <torch/types.h>

#include <torch/optim/adamw.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "learner/data_parallel.h"
#include "learner/gradients.h"
#include "learner/losses.h"
#include "learner/optimizer_state.h"
#include "learner/optimizer_step.h"
#include "model/modules.h"
#include "model/on_device.h"
#include "model/torch_errors.h"

namespace mallocmuzero {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;

// OK if the device has the arithmetic of mixed precision.
absl::Status CheckBfloat16(torch::Device device) {
  try {
    const torch::Tensor ones = torch::ones({8, 8}, torch::TensorOptions(torch::kBFloat16));
    torch::matmul(ones.to(device), ones.to(device)).to(torch::kCPU);
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("learner.mixed_precision: false expected, as this device has no products of "
                     "bfloat16 matrices: ",
                     FirstLine(error)));
  }
}

// The optimiser moves one weight after another, so a step that has failed may have moved some of
// them. Even if only memory was short, the learner cannot go on with such weights.
absl::Status FailedDevice(const absl::Status& step) {
  return absl::InternalError(
      absl::StrCat("an update has failed and may have changed a part of the weights, so that they "
                   "cannot be used: ",
                   step.message()));
}

}  // namespace

struct Learner::Torch {
  Torch(Network& trained, const v1::LearnerOptions& options, torch::Device device)
      : network(trained),
        gradients(Moved(trained, device), options, device),
        optimizer(trained.module()->parameters(),
                  AdamWOptions(options.learning_rate()).weight_decay(options.weight_decay())),
        steps_jointly(device.is_cuda() && HasJointStep()) {}

  static Network& Moved(Network& network, torch::Device device) {
    network.module()->to(device);
    return network;
  }

  Network& network;
  Gradients gradients;
  AdamW optimizer;
  bool steps_jointly;
};

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(Network& network,
                                                         const v1::LearnerOptions& options,
                                                         Device device) {
  MMZ_RETURN_IF_ERROR(CheckLearnerOptions(options));
  MMZ_RETURN_IF_ERROR(CheckDevice(device));
  if (options.mixed_precision()) {
    MMZ_RETURN_IF_ERROR(CheckBfloat16(DeviceOf(device)));
  }
  std::unique_ptr<Learner> learner;
  MMZ_RETURN_IF_ERROR(OnDevice("the networks", [&] {
    if (options.consistency_weight() > 0) network.AddConsistencyHead();
    learner.reset(new Learner(network, options, device));
  }));
  return learner;
}

Learner::Learner(Network& network, const v1::LearnerOptions& options, Device device)
    : options_(options), torch_(std::make_unique<Torch>(network, options, DeviceOf(device))) {}

Learner::~Learner() = default;

absl::StatusOr<UpdateResult> Learner::Update(const UnrollBatch& batch, size_t first, size_t rows,
                                             DataParallel* processes) {
  UpdateResult result;
  MMZ_RETURN_IF_ERROR(OnDevice(absl::StrCat("the losses of ", rows, " rows (learner.batch_size)"),
                               [&] { result = ComputeGradients(batch, first, rows); }));
  if (processes != nullptr) MMZ_RETURN_IF_ERROR(Average(*processes, result));
  const absl::Status stepped = OnDevice("the new weights", [&] { Step(result); });
  if (!stepped.ok()) return FailedDevice(stepped);
  return result;
}

// Gives all processes the mean of their gradients and losses.
absl::Status Learner::Average(DataParallel& processes, UpdateResult& result) {
  double losses[] = {result.total_loss, result.policy_loss, result.value_loss, result.reward_loss,
                     result.consistency_loss.value_or(0)};
  MMZ_RETURN_IF_ERROR(processes.Average(torch_->network, absl::MakeSpan(losses)));
  result.total_loss = losses[0];
  result.policy_loss = losses[1];
  result.value_loss = losses[2];
  result.reward_loss = losses[3];
  if (result.consistency_loss.has_value()) result.consistency_loss = losses[4];
  return absl::OkStatus();
}

UpdateResult Learner::ComputeGradients(const UnrollBatch& batch, size_t first, size_t rows) {
  const torch::Tensor report = torch_->gradients.Set(batch, first, rows).contiguous();
  const float* numbers = report.data_ptr<float>();
  UpdateResult result;
  result.total_loss = numbers[LossFunction::kTotal];
  result.policy_loss = numbers[LossFunction::kPolicy];
  result.value_loss = numbers[LossFunction::kValue];
  result.reward_loss = numbers[LossFunction::kReward];
  if (options_.consistency_weight() > 0) {
    result.consistency_loss = numbers[LossFunction::kConsistency];
  }
  const float* errors = numbers + LossFunction::kParts;
  result.value_errors.assign(errors, errors + rows);
  return result;
}

void Learner::Step(UpdateResult& result) {
  result.learning_rate = LearningRate(options_, step_);
  for (auto& group : torch_->optimizer.param_groups()) {
    static_cast<AdamWOptions&>(group.options()).lr(result.learning_rate);
  }
  const auto clip_and_step = torch_->steps_jointly ? ClipAndStepJointly : ClipAndStep;
  result.gradient_norm = clip_and_step(torch_->optimizer, options_.max_gradient_norm());
  ++step_;
}

std::vector<NamedTensor> Learner::ExportOptimizer() const {
  return ExportAdamW(*torch_->network.module(), torch_->optimizer);
}

absl::Status Learner::ImportOptimizer(absl::Span<const NamedTensor> state, uint64_t step) {
  MMZ_RETURN_IF_ERROR(ImportAdamW(state, *torch_->network.module(), torch_->optimizer));
  step_ = step;
  return absl::OkStatus();
}

}  // namespace mallocmuzero
