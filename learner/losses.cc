#include "learner/losses.h"

#include <ATen/autocast_mode.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "env/action.h"
#include "env/observation_layout.h"
#include "model/torch_version.h"

namespace mallocmuzero {
namespace {

// Rows of a batch's array. They must not be written.
template <typename T>
torch::Tensor Rows(const std::vector<T>& values, size_t first, std::vector<int64_t> shape) {
  int64_t row = 1;
  for (size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  const auto type = std::is_same_v<T, float> ? torch::kFloat32 : torch::kInt64;
  T* data = const_cast<T*>(values.data()) + first * row;  // NOLINT: only read
  return torch::from_blob(data, shape, type);
}

// The same field of two batches, one after the other.
template <typename Function>
void ForEachTensor(const BatchTensors& from, BatchTensors& to, const Function& function) {
  const auto apply = [&](torch::Tensor BatchTensors::*field) {
    if ((from.*field).defined()) function(from.*field, to.*field);
  };
  for (torch::Tensor BatchTensors::*field :
       {&BatchTensors::observations, &BatchTensors::actions, &BatchTensors::rewards,
        &BatchTensors::values, &BatchTensors::policies, &BatchTensors::weights,
        &BatchTensors::next_observations, &BatchTensors::reached}) {
    apply(field);
  }
}

// -sum target log softmax(logits) over the last dimension.
torch::Tensor CrossEntropy(const torch::Tensor& logits, const torch::Tensor& target) {
  return -(target * logits.log_softmax(-1)).sum(-1);
}

// From losses [rows, 1 + K] to [rows]: that of the position plus the mean of those of the K steps
// from it.
torch::Tensor FirstAndMean(const torch::Tensor& losses) {
  const torch::Tensor first = losses.select(1, 0);
  const int64_t steps = losses.size(1) - 1;
  return steps == 0 ? first : first + losses.narrow(1, 1, steps).mean(1);
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
#if MALLOCMUZERO_TORCH_AT_LEAST(2, 4)
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

}  // namespace

BatchTensors BatchTensors::Over(const UnrollBatch& batch, size_t first, size_t rows,
                                bool with_next) {
  const int64_t n = rows;
  const int64_t unroll = batch.unroll;
  const int64_t size = kObservationSize;
  BatchTensors over = {.observations = Rows(batch.observations, first, {n, size}),
                       .actions = Rows(batch.actions, first, {n, unroll}),
                       .rewards = Rows(batch.rewards, first, {n, unroll}),
                       .values = Rows(batch.values, first, {n, unroll + 1}),
                       .policies = Rows(batch.policies, first, {n, unroll + 1, kActionCount}),
                       .weights = Rows(batch.weights, first, {n}),
                       .next_observations = {},
                       .reached = {}};
  if (with_next) {
    over.next_observations = Rows(batch.next_observations, first, {n, unroll, size});
    over.reached = Rows(batch.reached, first, {n, unroll});
  }
  return over;
}

BatchTensors BatchTensors::To(torch::Device device) const {
  BatchTensors there;
  ForEachTensor(*this, there,
                [&](const torch::Tensor& from, torch::Tensor& to) { to = from.to(device); });
  return there;
}

void BatchTensors::CopyFrom(const BatchTensors& from) {
  ForEachTensor(from, *this,
                [](const torch::Tensor& source, torch::Tensor& to) { to.copy_(source); });
}

bool BatchTensors::HasShapesOf(const BatchTensors& other) const {
  return policies.sizes() == other.policies.sizes();
}

// All are [rows].
struct LossFunction::Losses {
  torch::Tensor policy;
  torch::Tensor value;
  torch::Tensor reward;
  torch::Tensor value_error;
  torch::Tensor consistency;  // undefined if it is not trained
};

// The outputs of the networks for rows and the steps from them. Logits and latent states are
// float32.
struct LossFunction::Unrolled {
  std::vector<torch::Tensor> policy_logits;  // K + 1, [rows, actions] each
  std::vector<torch::Tensor> value_logits;   // K + 1, [rows, bins] each
  std::vector<torch::Tensor> reward_logits;  // K, [rows, bins] each
  std::vector<torch::Tensor> latents;        // K, [rows, latent] each, after each step
};

LossFunction::LossFunction(Network& network, const v1::LearnerOptions& options,
                           torch::Device device)
    : net_(network.module()),
      codec_(network.config()),
      device_(device),
      centers_(BinCenters(codec_, device)),
      value_weight_(options.value_weight()),
      reward_weight_(options.reward_weight()),
      consistency_weight_(options.consistency_weight()),
      is_mixed_(options.mixed_precision()) {}

LossFunction::Unrolled LossFunction::Unroll(const torch::Tensor& observations,
                                            const torch::Tensor& actions) {
  // Always float32: observations differ in digits that bfloat16 does not have.
  torch::Tensor latent = net_->Represent(observations);
  const Autocast autocast(device_, is_mixed_);
  Unrolled said;
  const auto note = [](const torch::Tensor& logits, std::vector<torch::Tensor>& all) {
    all.push_back(logits.to(torch::kFloat32));
  };
  const PredictionOutput root = net_->Predict(latent);
  note(root.policy_logits, said.policy_logits);
  note(root.value_logits, said.value_logits);
  for (int64_t k = 0; k < actions.size(1); ++k) {
    const RecurrentOutput step = net_->Recurrent(latent, actions.select(1, k));
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
torch::Tensor LossFunction::Consistency(const BatchTensors& rows,
                                        const std::vector<torch::Tensor>& latents) {
  torch::Tensor reached;
  {
    const torch::NoGradGuard no_gradient;
    reached = net_->Represent(rows.next_observations.flatten(0, 1));
  }
  // Row by row, with the steps of a row side by side, as in `reached`.
  const torch::Tensor losses =
      net_->consistency->Loss(torch::stack(latents, 1).flatten(0, 1), reached)
          .view(rows.reached.sizes());
  return (rows.reached * losses).sum(1) / rows.reached.sum(1).clamp_min(1);
}

LossFunction::Losses LossFunction::Compute(const BatchTensors& rows) {
  const int64_t unroll = rows.actions.size(1);
  const Unrolled said = Unroll(rows.observations, rows.actions);
  const torch::Tensor value_logits = torch::stack(said.value_logits, 1);
  // The largest value that the bins can express. A larger error cannot be learned away.
  const float largest_value = codec_.FromScale(codec_.limit());
  const torch::Tensor first_value =
      DecodeLogits(codec_, centers_, value_logits.select(1, 0).detach());
  Losses losses = {
      .policy = FirstAndMean(CrossEntropy(torch::stack(said.policy_logits, 1), rows.policies)),
      .value = FirstAndMean(CrossEntropy(value_logits, EncodeTwoHot(codec_, rows.values))),
      .reward = torch::zeros({rows.values.size(0)}, rows.values.options()),
      .value_error =
          (first_value - rows.values.select(1, 0).clamp(-largest_value, largest_value)).abs(),
      .consistency = {}};
  if (unroll > 0) {
    losses.reward =
        CrossEntropy(torch::stack(said.reward_logits, 1), EncodeTwoHot(codec_, rows.rewards))
            .mean(1);
  }
  if (is_consistent()) losses.consistency = Consistency(rows, said.latents);
  return losses;
}

torch::Tensor LossFunction::AddGradients(const BatchTensors& rows) {
  const Losses losses = Compute(rows);
  torch::Tensor total_of_row =
      losses.policy + value_weight_ * losses.value + reward_weight_ * losses.reward;
  if (is_consistent()) total_of_row = total_of_row + consistency_weight_ * losses.consistency;
  const torch::Tensor total = (rows.weights * total_of_row).mean();
  total.backward();

  const torch::NoGradGuard no_gradient;
  const auto mean = [&](const torch::Tensor& loss) { return (rows.weights * loss).mean(); };
  std::vector<torch::Tensor> parts(kParts);
  parts[kTotal] = total.detach();
  parts[kPolicy] = mean(losses.policy);
  parts[kValue] = mean(losses.value);
  parts[kReward] = mean(losses.reward);
  parts[kConsistency] = is_consistent() ? mean(losses.consistency) : torch::zeros_like(total);
  return torch::cat({torch::stack(parts), losses.value_error});
}

}  // namespace mallocmuzero
