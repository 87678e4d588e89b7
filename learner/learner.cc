#include "learner/learner.h"

// First: the next headers use what they declare, and clang wants IValue complete where others only
// name it.
#include <ATen/core/ivalue.h>
#include <torch/types.h>

#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "learner/data_parallel.h"
#include "model/modules.h"
#include "model/value_codec.h"
#include "simulator/core/status_macros.h"

namespace mallocmuzero {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;
using torch::optim::AdamWParamState;

absl::Status Check(bool ok, absl::string_view field, absl::string_view expected) {
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("learner.", field, ": ", expected, " expected"));
}

// What LibTorch files the state of a parameter under.
auto StateKey(const torch::Tensor& parameter) {
#if TORCH_VERSION_MAJOR >= 2
  return static_cast<void*>(parameter.unsafeGetTensorImpl());
#else
  return c10::guts::to_string(parameter.unsafeGetTensorImpl());
#endif
}

// A view of rows of a batch's array, copied to the device.
template <typename T>
torch::Tensor Rows(const std::vector<T>& values, size_t first, std::vector<int64_t> shape,
                   torch::Device device) {
  int64_t row = 1;
  for (size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  const auto type = std::is_same_v<T, float> ? torch::kFloat32 : torch::kInt64;
  T* data = const_cast<T*>(values.data()) + first * row;  // NOLINT: only read
  return torch::from_blob(data, shape, type).to(device);
}

// -sum target log softmax(logits) over the last dimension.
torch::Tensor CrossEntropy(const torch::Tensor& logits, const torch::Tensor& target) {
  return -(target * logits.log_softmax(-1)).sum(-1);
}

}  // namespace

absl::Status CheckLearnerOptions(const v1::LearnerOptions& options) {
  MMZ_RETURN_IF_ERROR(Check(options.batch_size() >= 1, "batch_size", "1 or more"));
  MMZ_RETURN_IF_ERROR(Check(options.unroll_steps() <= 64, "unroll_steps", "0 to 64"));
  MMZ_RETURN_IF_ERROR(
      Check(options.samples_per_insert() > 0, "samples_per_insert", "a number above 0"));
  MMZ_RETURN_IF_ERROR(Check(options.best_share() >= 0 && options.best_share() <= 1, "best_share",
                            "a share from 0 to 1"));
  MMZ_RETURN_IF_ERROR(Check(options.learning_rate() > 0 && std::isfinite(options.learning_rate()),
                            "learning_rate", "a number above 0"));
  MMZ_RETURN_IF_ERROR(Check(options.weight_decay() >= 0, "weight_decay", "0 or more"));
  MMZ_RETURN_IF_ERROR(
      Check(options.max_gradient_norm() > 0, "max_gradient_norm", "a number above 0"));
  MMZ_RETURN_IF_ERROR(Check(options.value_weight() >= 0, "value_weight", "0 or more"));
  return Check(options.reward_weight() >= 0, "reward_weight", "0 or more");
}

struct Learner::Torch {
  Torch(Network& trained, const v1::LearnerOptions& options, torch::Device to)
      : network(trained), net(trained.module()), codec(trained.config()), device(to) {
    net->to(device);
    optimizer = std::make_unique<AdamW>(
        net->parameters(),
        AdamWOptions(options.learning_rate()).weight_decay(options.weight_decay()));
  }

  struct Losses {
    torch::Tensor policy;  // [rows], as all
    torch::Tensor value;
    torch::Tensor reward;
    torch::Tensor value_error;
  };
  Losses ComputeLosses(const UnrollBatch& batch, size_t first, size_t rows);

  Network& network;
  MuZeroNet net;
  ValueCodec codec;
  torch::Device device;
  std::unique_ptr<AdamW> optimizer;
};

Learner::Torch::Losses Learner::Torch::ComputeLosses(const UnrollBatch& batch, size_t first,
                                                     size_t rows) {
  const auto n = static_cast<int64_t>(rows);
  const auto unroll = static_cast<int64_t>(batch.unroll);
  const torch::Tensor actions = Rows(batch.actions, first, {n, unroll}, device);
  const torch::Tensor rewards = Rows(batch.rewards, first, {n, unroll}, device);
  const torch::Tensor values = Rows(batch.values, first, {n, unroll + 1}, device);
  const torch::Tensor policies = Rows(batch.policies, first, {n, unroll + 1, kActionCount}, device);
  const torch::Tensor value_targets = EncodeTwoHot(codec, values);
  const torch::Tensor reward_targets = EncodeTwoHot(codec, rewards);

  const InitialOutput initial =
      net->Initial(Rows(batch.observations, first, {n, int64_t{kObservationSize}}, device));
  Losses losses = {
      .policy = CrossEntropy(initial.policy_logits, policies.select(1, 0)),
      .value = CrossEntropy(initial.value_logits, value_targets.select(1, 0)),
      .reward = torch::zeros({n}, values.options()),
      .value_error =
          (DecodeLogits(codec, initial.value_logits.detach()) - values.select(1, 0)).abs()};
  torch::Tensor latent = initial.latent;
  for (int64_t k = 0; k < unroll; ++k) {
    const RecurrentOutput step = net->Recurrent(latent, actions.select(1, k));
    latent = step.latent;
    const double share = 1.0 / static_cast<double>(unroll);
    losses.policy =
        losses.policy + share * CrossEntropy(step.policy_logits, policies.select(1, k + 1));
    losses.value =
        losses.value + share * CrossEntropy(step.value_logits, value_targets.select(1, k + 1));
    losses.reward =
        losses.reward + share * CrossEntropy(step.reward_logits, reward_targets.select(1, k));
  }
  return losses;
}

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(Network& network,
                                                         const v1::LearnerOptions& options,
                                                         Device device) {
  MMZ_RETURN_IF_ERROR(CheckLearnerOptions(options));
  if (device == Device::kCuda && !HasCuda()) {
    return absl::InvalidArgumentError("there is no CUDA device that LibTorch can use");
  }
  return std::unique_ptr<Learner>(new Learner(network, options, device));
}

Learner::Learner(Network& network, const v1::LearnerOptions& options, Device device)
    : options_(options),
      torch_(std::make_unique<Torch>(network, options,
                                     device == Device::kCuda ? torch::kCUDA : torch::kCPU)) {}

Learner::~Learner() = default;

UpdateResult Learner::Update(const UnrollBatch& batch, size_t first, size_t rows) {
  UpdateResult result = ComputeGradients(batch, first, rows);
  Step(result);
  return result;
}

absl::StatusOr<UpdateResult> Learner::Update(const UnrollBatch& batch, size_t first, size_t rows,
                                             DataParallel& processes) {
  UpdateResult result = ComputeGradients(batch, first, rows);
  double losses[] = {result.total_loss, result.policy_loss, result.value_loss, result.reward_loss};
  MMZ_RETURN_IF_ERROR(processes.Average(torch_->network, absl::MakeSpan(losses)));
  result.total_loss = losses[0];
  result.policy_loss = losses[1];
  result.value_loss = losses[2];
  result.reward_loss = losses[3];
  Step(result);
  return result;
}

UpdateResult Learner::ComputeGradients(const UnrollBatch& batch, size_t first, size_t rows) {
  torch_->net->train();
  const Torch::Losses losses = torch_->ComputeLosses(batch, first, rows);
  const torch::Tensor weights =
      Rows(batch.weights, first, {static_cast<int64_t>(rows)}, torch_->device);
  const torch::Tensor total = (weights * (losses.policy + options_.value_weight() * losses.value +
                                          options_.reward_weight() * losses.reward))
                                  .mean();
  torch_->optimizer->zero_grad();
  total.backward();

  const auto mean = [&](const torch::Tensor& loss) {
    return (weights * loss).mean().item<double>();
  };
  UpdateResult result;
  result.total_loss = total.item<double>();
  result.policy_loss = mean(losses.policy);
  result.value_loss = mean(losses.value);
  result.reward_loss = mean(losses.reward);
  const torch::Tensor errors = losses.value_error.to(torch::kCPU).contiguous();
  result.value_errors.assign(errors.data_ptr<float>(), errors.data_ptr<float>() + rows);
  return result;
}

void Learner::Step(UpdateResult& result) {
  const double warm =
      std::min(1.0, static_cast<double>(step_ + 1) / std::max(1U, options_.warmup_updates()));
  result.learning_rate = options_.learning_rate() * warm;
  for (auto& group : torch_->optimizer->param_groups()) {
    static_cast<AdamWOptions&>(group.options()).lr(result.learning_rate);
  }
  result.gradient_norm =
      torch::nn::utils::clip_grad_norm_(torch_->net->parameters(), options_.max_gradient_norm());
  // A batch that gives no finite gradient teaches nothing and must not spoil the weights.
  if (std::isfinite(result.gradient_norm)) torch_->optimizer->step();
  ++step_;
}

std::vector<NamedTensor> Learner::ExportOptimizer() const {
  std::vector<NamedTensor> exported;
  for (const auto& parameter : torch_->net->named_parameters()) {
    const auto found = torch_->optimizer->state().find(StateKey(parameter.value()));
    if (found == torch_->optimizer->state().end()) continue;  // no update yet
    const auto& state = static_cast<const AdamWParamState&>(*found->second);
    const std::pair<const char*, torch::Tensor> parts[] = {
        {"step", torch::tensor({state.step()}, torch::kInt64)},
        {"exp_avg", state.exp_avg()},
        {"exp_avg_sq", state.exp_avg_sq()}};
    for (const auto& [part, tensor] : parts) {
      exported.push_back(
          *ToNamedTensor(absl::StrCat("optimizer/", parameter.key(), "/", part), tensor));
    }
  }
  return exported;
}

absl::Status Learner::ImportOptimizer(absl::Span<const NamedTensor> state, uint64_t step) {
  absl::flat_hash_map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : state) by_name[tensor.name] = &tensor;
  std::vector<std::pair<torch::Tensor, std::unique_ptr<AdamWParamState>>> restored;
  for (const auto& parameter : torch_->net->named_parameters()) {
    const std::string prefix = absl::StrCat("optimizer/", parameter.key(), "/");
    const NamedTensor* parts[3] = {};
    size_t i = 0;
    for (const char* part : {"step", "exp_avg", "exp_avg_sq"}) {
      const auto found = by_name.find(absl::StrCat(prefix, part));
      if (found != by_name.end()) parts[i] = found->second;
      ++i;
    }
    const std::vector<int64_t> shape = parameter.value().sizes().vec();
    if (parts[0] == nullptr && step == 0) continue;
    if (parts[0] == nullptr || parts[0]->type != v1::CheckpointHeader::Tensor::TYPE_INT64 ||
        parts[1] == nullptr || parts[1]->shape != shape || parts[2] == nullptr ||
        parts[2]->shape != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat(prefix, ": the optimiser's state is missing or of another network"));
    }
    auto entry = std::make_unique<AdamWParamState>();
    entry->step(ToTorch(*parts[0]).item<int64_t>());
    entry->exp_avg(ToTorch(*parts[1]).to(torch_->device));
    entry->exp_avg_sq(ToTorch(*parts[2]).to(torch_->device));
    restored.emplace_back(parameter.value(), std::move(entry));
  }
  auto& target = torch_->optimizer->state();
  target.clear();
  for (auto& [parameter, entry] : restored) target[StateKey(parameter)] = std::move(entry);
  step_ = step;
  return absl::OkStatus();
}

}  // namespace mallocmuzero
