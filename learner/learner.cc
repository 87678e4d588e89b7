#include "learner/learner.h"

// These come first: the next headers use their declarations, and clang needs the full definition of
// IValue where other headers only declare it.
#include <ATen/core/ivalue.h>
#include <torch/types.h>

#include <ATen/autocast_mode.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>
#include <torch/version.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "learner/data_parallel.h"
#include "learner/optimizer_state.h"
#include "model/modules.h"
#include "model/torch_errors.h"
#include "model/value_codec.h"

namespace mallocmuzero {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWOptions;

// Rows of a batch's array, copied to the device.
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

// While it lives, LibTorch computes in bfloat16 where that is safe (autocast), on this thread, if
// `wanted`. Weights stay float32.
class Autocast {
 public:
  Autocast(torch::Device device, bool wanted) : type_(device.type()), wanted_(wanted) {
    if (!wanted_) return;
    was_on_ = IsOn();
    type_before_ = Type();
    SetType(torch::kBFloat16);
    Switch(true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!wanted_) return;
    // Autocast keeps casts of weights, and the next update changes the weights.
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    Switch(was_on_);
    SetType(type_before_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  bool IsOn() const { return at::autocast::is_autocast_enabled(type_); }
  void Switch(bool on) const { at::autocast::set_autocast_enabled(type_, on); }
  at::ScalarType Type() const { return at::autocast::get_autocast_dtype(type_); }
  void SetType(at::ScalarType type) const { at::autocast::set_autocast_dtype(type_, type); }
#else
  bool IsCuda() const { return type_ == at::DeviceType::CUDA; }
  bool IsOn() const {
    return IsCuda() ? at::autocast::is_enabled() : at::autocast::is_cpu_enabled();
  }
  void Switch(bool on) const {
    IsCuda() ? at::autocast::set_enabled(on) : at::autocast::set_cpu_enabled(on);
  }
  at::ScalarType Type() const {
    return IsCuda() ? at::autocast::get_autocast_gpu_dtype()
                    : at::autocast::get_autocast_cpu_dtype();
  }
  void SetType(at::ScalarType type) const {
    IsCuda() ? at::autocast::set_autocast_gpu_dtype(type)
             : at::autocast::set_autocast_cpu_dtype(type);
  }
#endif

  at::DeviceType type_;
  bool wanted_;
  bool was_on_ = false;
  at::ScalarType type_before_ = torch::kFloat32;
};

// LibTorch throws what goes wrong on a device. Names what was to be computed.
absl::Status OnDevice(absl::string_view what, const std::function<void()>& compute) {
  try {
    compute();
    return absl::OkStatus();
  } catch (const c10::OutOfMemoryError& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the device has too little memory for ", what, ": ", FirstLine(error)));
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("the device cannot compute ", what, ": ", FirstLine(error)));
  }
}

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

// The outputs of the networks for rows and the steps from them. Logits and latent states are
// float32.
struct Unrolled {
  std::vector<torch::Tensor> policy_logits;  // K + 1, [rows, actions] each
  std::vector<torch::Tensor> value_logits;   // K + 1, [rows, bins] each
  std::vector<torch::Tensor> reward_logits;  // K, [rows, bins] each
  std::vector<torch::Tensor> latents;        // K, [rows, latent] each, after each step
};

}  // namespace

struct Learner::Torch {
  Torch(Network& trained, const v1::LearnerOptions& options, torch::Device to)
      : network(trained),
        net(trained.module()),
        codec(trained.config()),
        device(to),
        is_consistent(options.consistency_weight() > 0),
        is_mixed(options.mixed_precision()) {
    net->to(device);
    optimizer = std::make_unique<AdamW>(
        net->parameters(),
        AdamWOptions(options.learning_rate()).weight_decay(options.weight_decay()));
  }

  struct Losses {
    torch::Tensor policy;  // [rows], as all of them
    torch::Tensor value;
    torch::Tensor reward;
    torch::Tensor value_error;
    torch::Tensor consistency;  // undefined if it is not trained
  };
  Losses ComputeLosses(const UnrollBatch& batch, size_t first, size_t rows);
  Unrolled Unroll(const torch::Tensor& observations, const torch::Tensor& actions);
  torch::Tensor ConsistencyLoss(const UnrollBatch& batch, size_t first,
                                const std::vector<torch::Tensor>& latents);

  Network& network;
  MuZeroNet net;
  ValueCodec codec;
  torch::Device device;
  bool is_consistent;
  bool is_mixed;
  std::unique_ptr<AdamW> optimizer;
};

Unrolled Learner::Torch::Unroll(const torch::Tensor& observations, const torch::Tensor& actions) {
  // Always float32: observations differ in digits that bfloat16 does not have.
  torch::Tensor latent = net->Represent(observations);
  const Autocast autocast(device, is_mixed);
  Unrolled said;
  const auto note = [](const torch::Tensor& logits, std::vector<torch::Tensor>& all) {
    all.push_back(logits.to(torch::kFloat32));
  };
  const PredictionOutput root = net->Predict(latent);
  note(root.policy_logits, said.policy_logits);
  note(root.value_logits, said.value_logits);
  for (int64_t k = 0; k < actions.size(1); ++k) {
    const RecurrentOutput step = net->Recurrent(latent, actions.select(1, k));
    latent = step.latent;
    said.latents.push_back(latent);
    note(step.policy_logits, said.policy_logits);
    note(step.value_logits, said.value_logits);
    note(step.reward_logits, said.reward_logits);
  }
  return said;
}

// Compares `latents`, [rows, latent] after each step, with the latent states of the positions
// reached. Returns [rows]: the mean over the steps that lie inside the game.
torch::Tensor Learner::Torch::ConsistencyLoss(const UnrollBatch& batch, size_t first,
                                              const std::vector<torch::Tensor>& latents) {
  const auto unroll = std::ssize(latents);
  const int64_t rows = latents[0].size(0);
  const auto size = int64_t{kObservationSize};
  const torch::Tensor is_inside = Rows(batch.reached, first, {rows, unroll}, device);
  torch::Tensor reached;
  {
    const torch::NoGradGuard no_gradient;
    const torch::Tensor observations =
        Rows(batch.next_observations, first, {rows, unroll, size}, device);
    reached = net->Represent(observations.view({rows * unroll, size}));
  }
  // Row by row, with the steps of a row side by side, as in `reached`.
  const torch::Tensor losses =
      net->consistency->Loss(torch::stack(latents, 1).flatten(0, 1), reached).view({rows, unroll});
  return (is_inside * losses).sum(1) / is_inside.sum(1).clamp_min(1);
}

Learner::Torch::Losses Learner::Torch::ComputeLosses(const UnrollBatch& batch, size_t first,
                                                     size_t rows) {
  const int64_t n = rows;
  const int64_t unroll = batch.unroll;
  const torch::Tensor actions = Rows(batch.actions, first, {n, unroll}, device);
  const torch::Tensor rewards = Rows(batch.rewards, first, {n, unroll}, device);
  const torch::Tensor values = Rows(batch.values, first, {n, unroll + 1}, device);
  const torch::Tensor policies = Rows(batch.policies, first, {n, unroll + 1, kActionCount}, device);
  // The largest value that the bins can express. A larger error cannot be learned away.
  const float largest_value = codec.FromScale(codec.limit());
  const torch::Tensor value_targets = EncodeTwoHot(codec, values);
  const torch::Tensor reward_targets = EncodeTwoHot(codec, rewards);

  const Unrolled said =
      Unroll(Rows(batch.observations, first, {n, int64_t{kObservationSize}}, device), actions);
  Losses losses = {.policy = CrossEntropy(said.policy_logits[0], policies.select(1, 0)),
                   .value = CrossEntropy(said.value_logits[0], value_targets.select(1, 0)),
                   .reward = torch::zeros({n}, values.options()),
                   .value_error = (DecodeLogits(codec, said.value_logits[0].detach()) -
                                   values.select(1, 0).clamp(-largest_value, largest_value))
                                      .abs(),
                   .consistency = {}};
  const double share = 1.0 / static_cast<double>(std::max<int64_t>(1, unroll));
  for (int64_t k = 0; k < unroll; ++k) {
    losses.policy =
        losses.policy + share * CrossEntropy(said.policy_logits[k + 1], policies.select(1, k + 1));
    losses.value = losses.value +
                   share * CrossEntropy(said.value_logits[k + 1], value_targets.select(1, k + 1));
    losses.reward =
        losses.reward + share * CrossEntropy(said.reward_logits[k], reward_targets.select(1, k));
  }
  if (is_consistent) losses.consistency = ConsistencyLoss(batch, first, said.latents);
  return losses;
}

absl::StatusOr<std::unique_ptr<Learner>> Learner::Create(Network& network,
                                                         const v1::LearnerOptions& options,
                                                         Device device) {
  MMZ_RETURN_IF_ERROR(CheckLearnerOptions(options));
  if (device == Device::kCuda && !HasCuda()) {
    return absl::InvalidArgumentError("there is no CUDA device that LibTorch can use");
  }
  if (options.mixed_precision()) {
    MMZ_RETURN_IF_ERROR(CheckBfloat16(device == Device::kCuda ? torch::kCUDA : torch::kCPU));
  }
  if (options.consistency_weight() > 0) network.AddConsistencyHead();
  std::unique_ptr<Learner> learner;
  MMZ_RETURN_IF_ERROR(
      OnDevice("the networks", [&] { learner.reset(new Learner(network, options, device)); }));
  return learner;
}

Learner::Learner(Network& network, const v1::LearnerOptions& options, Device device)
    : options_(options),
      torch_(std::make_unique<Torch>(network, options,
                                     device == Device::kCuda ? torch::kCUDA : torch::kCPU)) {}

Learner::~Learner() = default;

absl::StatusOr<UpdateResult> Learner::Update(const UnrollBatch& batch, size_t first, size_t rows,
                                             DataParallel* processes) {
  UpdateResult result;
  MMZ_RETURN_IF_ERROR(OnDevice(absl::StrCat("the losses of ", rows, " rows (learner.batch_size)"),
                               [&] { result = ComputeGradients(batch, first, rows); }));
  if (processes != nullptr) MMZ_RETURN_IF_ERROR(Average(*processes, result));
  MMZ_RETURN_IF_ERROR(OnDevice("the new weights", [&] { Step(result); }));
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
  torch_->net->train();
  const Torch::Losses losses = torch_->ComputeLosses(batch, first, rows);
  const int64_t n = rows;
  const torch::Tensor weights = Rows(batch.weights, first, {n}, torch_->device);
  torch::Tensor total_of_row = losses.policy + options_.value_weight() * losses.value +
                               options_.reward_weight() * losses.reward;
  if (losses.consistency.defined()) {
    total_of_row = total_of_row + options_.consistency_weight() * losses.consistency;
  }
  const torch::Tensor total = (weights * total_of_row).mean();
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
  if (losses.consistency.defined()) result.consistency_loss = mean(losses.consistency);
  const torch::Tensor errors = losses.value_error.to(torch::kCPU).contiguous();
  result.value_errors.assign(errors.data_ptr<float>(), errors.data_ptr<float>() + rows);
  return result;
}

void Learner::Step(UpdateResult& result) {
  result.learning_rate = LearningRate(options_, step_);
  for (auto& group : torch_->optimizer->param_groups()) {
    static_cast<AdamWOptions&>(group.options()).lr(result.learning_rate);
  }
  result.gradient_norm =
      torch::nn::utils::clip_grad_norm_(torch_->net->parameters(), options_.max_gradient_norm());
  // A gradient that is not finite must not change the weights.
  if (std::isfinite(result.gradient_norm)) torch_->optimizer->step();
  ++step_;
}

std::vector<NamedTensor> Learner::ExportOptimizer() const {
  return ExportAdamW(*torch_->net, *torch_->optimizer);
}

absl::Status Learner::ImportOptimizer(absl::Span<const NamedTensor> state, uint64_t step) {
  MMZ_RETURN_IF_ERROR(ImportAdamW(state, *torch_->net, *torch_->optimizer));
  step_ = step;
  return absl::OkStatus();
}

}  // namespace mallocmuzero
