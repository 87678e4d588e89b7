// Evaluates a copy of a network's weights. Preparing it once saves operations for every batch.

#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <malloc.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/architecture.h"
#include "model/bin_means.h"
#include "model/modules.h"
#include "model/network.h"
#include "model/on_device.h"

namespace mallocmuzero {
namespace {

// A layer: inputs x weight + bias.
struct Layer {
  torch::Tensor weight;  // [inputs, outputs]
  torch::Tensor bias;    // [outputs]
};

using Parameters = torch::OrderedDict<std::string, torch::Tensor>;

torch::ScalarType TypeOf(Precision precision) {
  return precision == Precision::kBfloat16 ? torch::kBFloat16 : torch::kFloat32;
}

// A tensor over the caller's memory, which must outlive it. It must not be written.
template <typename T>
torch::Tensor View(absl::Span<const T> values, at::IntArrayRef shape, torch::ScalarType type) {
  return torch::from_blob(const_cast<T*>(values.data()), shape, torch::TensorOptions(type));
}

void CopyOut(const torch::Tensor& tensor, absl::Span<float> out) {
  const torch::Tensor local = tensor.to(torch::kCPU, torch::kFloat32).contiguous();
  assert(local.numel() == out.size());
  std::memcpy(out.data(), local.data_ptr<float>(), out.size() * sizeof(float));
}

}  // namespace

struct NetworkSnapshot::Weights {
  Weights(const v1::NetworkConfig& config, const EvaluationOptions& options,
          const MuZeroNetImpl& net);

  // A layer as `parameters` has it, by its name. Outputs up to `columns`, if those are more, are 0.
  Layer Prepare(const Parameters& parameters, const LinearLayer& layer, int64_t columns = 0) const;
  void PrepareDynamics(const Parameters& parameters);
  void PrepareHeads(const Parameters& parameters);

  // Computes NormalizeLatent in float32: LibTorch 1.13 takes ten times as long in bfloat16.
  torch::Tensor Normalize(const torch::Tensor& latent) const {
    return NormalizeLatent(latent.to(torch::kFloat32)).to(type);
  }
  torch::Tensor Place(const torch::Tensor& tensor) const;

  // From [batch, observation_size] to [batch, latent].
  torch::Tensor Represent(absl::Span<const float> observations) const;

  // From latent states [batch, latent], which it overwrites, and actions [batch] to the next latent
  // states.
  torch::Tensor Advance(const torch::Tensor& latent, const torch::Tensor& actions) const;

  // Evaluates the heads of latent states [batch, latent]; rewards only if `out` has room for them.
  void Predict(const torch::Tensor& latent, const Evaluations& out) const;

  // Writes the policies' logits [batch, actions], and decodes logits [heads, batch, columns] of
  // values and, if there are two heads, of rewards.
  void WriteOnCpu(const torch::Tensor& policies, const torch::Tensor& logits,
                  const Evaluations& out) const;
  void WriteFromGpu(const torch::Tensor& policies, const torch::Tensor& logits,
                    const Evaluations& out) const;

  v1::NetworkConfig config;
  ValueCodec codec;
  torch::Device device;
  torch::ScalarType type;
  Architecture architecture;

  GraphModule representation{nullptr};

  // Dynamics. The first layer reads a one-hot action: `actions` has, for each action, the row that
  // it adds, with the bias, [actions, latent].
  torch::Tensor actions;
  std::vector<Layer> in;
  std::vector<torch::Tensor> out;

  // The hidden layers of the reward and of the prediction, side by side, and the layers behind
  // them.
  Layer hidden;
  Layer reward;
  Layer value;
  Layer policy;
  torch::Tensor centers;  // of the bins, float32
  int64_t columns = 0;    // of reward.weight and value.weight, those behind the bins unused
};

NetworkSnapshot::Weights::Weights(const v1::NetworkConfig& config, const EvaluationOptions& options,
                                  const MuZeroNetImpl& net)
    : config(config),
      codec(config),
      device(DeviceOf(options.device)),
      type(TypeOf(options.precision)),
      architecture(config),
      representation(architecture.representation()) {
  const Parameters parameters = net.named_parameters();
  for (const auto& parameter : representation->named_parameters()) {
    parameter.value().copy_(parameters[absl::StrCat(kRepresentation, parameter.key())]);
  }
  representation->to(device);
  representation->eval();
  PrepareDynamics(parameters);
  PrepareHeads(parameters);
  centers = BinCenters(codec, device);
}

void NetworkSnapshot::Weights::PrepareDynamics(const Parameters& parameters) {
  for (size_t n = 0; n < config.dynamics_blocks(); ++n) {
    const std::string block = absl::StrCat(kDynamics, BlockName(n));
    in.push_back(Prepare(parameters, architecture.Layer(block + ".in")));
    out.push_back(Prepare(parameters, architecture.Layer(block + ".out")).weight);
  }
  // The first layer reads the latent state and, behind it, the one-hot action.
  const int64_t latent = config.latent();
  const torch::Tensor first = parameters["dynamics.block_0.in.weight"].detach().t();
  const torch::Tensor bias = parameters["dynamics.block_0.in.bias"].detach();
  actions = Place(first.narrow(0, latent, config.actions()) + bias);
  in[0].weight = Place(first.narrow(0, 0, latent));
}

void NetworkSnapshot::Weights::PrepareHeads(const Parameters& parameters) {
  const Layer of_reward = Prepare(parameters, architecture.Layer("dynamics.reward_hidden"));
  const Layer of_prediction = Prepare(parameters, architecture.Layer("prediction.hidden"));
  hidden = {.weight = torch::cat({of_reward.weight, of_prediction.weight}, 1),
            .bias = torch::cat({of_reward.bias, of_prediction.bias})};
  columns = config.bins();
  // oneDNN's products of bfloat16 want whole vectors.
  if (type == torch::kBFloat16) columns = (columns + 31) / 32 * 32;
  reward = Prepare(parameters, architecture.Layer("dynamics.reward"), columns);
  value = Prepare(parameters, architecture.Layer("prediction.value"), columns);
  policy = Prepare(parameters, architecture.Layer("prediction.policy"));
}

torch::Tensor NetworkSnapshot::Weights::Place(const torch::Tensor& tensor) const {
  // A copy: the learner changes its own memory.
  return tensor.detach().to(device, type, /*non_blocking=*/false, /*copy=*/true).contiguous();
}

Layer NetworkSnapshot::Weights::Prepare(const Parameters& parameters, const LinearLayer& layer,
                                        int64_t columns) const {
  const int64_t outputs = layer.outputs;
  const auto padded = [&](const torch::Tensor& tensor) {
    return Place(torch::constant_pad_nd(tensor, {0, std::max<int64_t>(0, columns - outputs)}));
  };
  const torch::Tensor& weight = parameters[absl::StrCat(layer.name, ".weight")];
  assert(weight.size(0) == outputs && weight.size(1) == layer.inputs);
  if (!layer.has_bias) return {.weight = padded(weight.t()), .bias = {}};
  return {.weight = padded(weight.t()),
          .bias = padded(parameters[absl::StrCat(layer.name, ".bias")])};
}

torch::Tensor NetworkSnapshot::Weights::Represent(absl::Span<const float> observations) const {
  const int64_t size = config.observation_size();
  const int64_t batch = std::ssize(observations) / size;
  const torch::Tensor rows = View(observations, {batch, size}, torch::kFloat32).to(device);
  return representation.ptr()->forward({rows})[0].to(type);
}

torch::Tensor NetworkSnapshot::Weights::Advance(const torch::Tensor& latent,
                                                const torch::Tensor& actions) const {
  for (size_t k = 0; k < in.size(); ++k) {
    torch::Tensor features;
    if (k == 0) {
      features = this->actions.index_select(0, actions).addmm_(latent, in[0].weight);
    } else {
      features = torch::addmm(in[k].bias, Normalize(latent), in[k].weight);
    }
    latent.addmm_(features.relu_(), out[k]);
  }
  return Normalize(latent);
}

void NetworkSnapshot::Weights::Predict(const torch::Tensor& latent, const Evaluations& out) const {
  const int64_t batch = latent.size(0);
  const int64_t width = config.head_hidden();
  const torch::Tensor features = torch::addmm(hidden.bias, latent, hidden.weight).relu_();
  const torch::Tensor for_reward = features.narrow(1, 0, width);
  const torch::Tensor for_prediction = features.narrow(1, width, width);
  const torch::Tensor policies = torch::addmm(policy.bias, for_prediction, policy.weight);

  const int64_t heads = out.rewards.empty() ? 1 : 2;
  torch::Tensor logits = torch::empty({heads, batch, columns}, features.options());
  torch::Tensor values = logits.select(0, 0);
  torch::addmm_out(values, value.bias, for_prediction, value.weight);
  if (heads == 2) {
    torch::Tensor rewards = logits.select(0, 1);
    torch::addmm_out(rewards, reward.bias, for_reward, reward.weight);
  }
  logits.is_cuda() ? WriteFromGpu(policies, logits, out) : WriteOnCpu(policies, logits, out);
}

void NetworkSnapshot::Weights::WriteOnCpu(const torch::Tensor& policies,
                                          const torch::Tensor& logits,
                                          const Evaluations& out) const {
  CopyOut(policies, out.logits);
  torch::Tensor means = torch::empty({logits.size(0), logits.size(1)}, torch::kFloat32);
  const absl::Span<float> to(means.data_ptr<float>(), means.numel());
  if (type == torch::kBFloat16) {
    const auto* bits = reinterpret_cast<const uint16_t*>(logits.data_ptr<at::BFloat16>());
    BinMeans(bits, columns, codec.centers(), to);
  } else {
    BinMeans(logits.data_ptr<float>(), columns, codec.centers(), to);
  }
  const float* numbers = to.data();
  for (float& number : out.values) number = codec.FromScale(*numbers++);
  for (float& number : out.rewards) number = codec.FromScale(*numbers++);
}

// One copy brings all results, because each copy waits for the GPU.
void NetworkSnapshot::Weights::WriteFromGpu(const torch::Tensor& policies,
                                            const torch::Tensor& logits,
                                            const Evaluations& out) const {
  const torch::Tensor bins = logits.narrow(-1, 0, config.bins());
  const torch::Tensor means = torch::matmul(torch::softmax(bins, -1, torch::kFloat32), centers);
  const torch::Tensor all =
      torch::cat({policies.to(torch::kFloat32), means.t()}, 1).to(torch::kCPU).contiguous();
  const int64_t actions = policies.size(1);
  const float* row = all.data_ptr<float>();  // logits, value, and reward if there are two heads
  for (int64_t k = 0; k < all.size(0); ++k, row += all.size(1)) {
    std::copy_n(row, actions, &out.logits[k * actions]);
    out.values[k] = codec.FromScale(row[actions]);
    if (!out.rewards.empty()) out.rewards[k] = codec.FromScale(row[actions + 1]);
  }
}

namespace {

// A latent model whose latent states are rows of one tensor.
class SnapshotLatentModel final : public LatentModel {
 public:
  SnapshotLatentModel(std::shared_ptr<const NetworkSnapshot> snapshot, uint32_t slots)
      : snapshot_(std::move(snapshot)) {
    const NetworkSnapshot::Weights& weights = snapshot_->weights();
    latents_ = torch::zeros({int64_t{slots}, int64_t{weights.config.latent()}},
                            torch::TensorOptions(weights.type).device(weights.device));
  }

  uint32_t slots() const override { return latents_.size(0); }
  uint32_t actions() const override { return snapshot_->config().actions(); }
  uint32_t observation_size() const override { return snapshot_->config().observation_size(); }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    assert(observations.size() == roots.size() * observation_size());
    if (roots.empty()) return;
    const c10::InferenceMode inference;
    const NetworkSnapshot::Weights& weights = snapshot_->weights();
    indices_.assign(roots.begin(), roots.end());
    const torch::Tensor latent = weights.Represent(observations);
    latents_.index_copy_(0, Indices(1)[0], latent);
    weights.Predict(latent, {.values = out.values, .rewards = {}, .logits = out.logits});
    for (float& reward : out.rewards) reward = 0;
  }

  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    assert(out.rewards.size() == steps.size());
    if (steps.empty()) return;
    const c10::InferenceMode inference;
    const NetworkSnapshot::Weights& weights = snapshot_->weights();
    indices_.clear();
    for (const LatentStep& step : steps) indices_.push_back(step.parent);
    for (const LatentStep& step : steps) indices_.push_back(step.child);
    for (const LatentStep& step : steps) indices_.push_back(step.action);
    const std::vector<torch::Tensor> indices = Indices(3);
    const torch::Tensor latent = weights.Advance(latents_.index_select(0, indices[0]), indices[2]);
    latents_.index_copy_(0, indices[1], latent);
    weights.Predict(latent, out);
  }

 private:
  // The indices on the device, which take one copy, in `parts` of the same size.
  std::vector<torch::Tensor> Indices(int64_t parts) const {
    const int64_t size = std::ssize(indices_) / parts;
    return View<int64_t>(indices_, {parts, size}, torch::kInt64).to(latents_.device()).unbind();
  }

  std::shared_ptr<const NetworkSnapshot> snapshot_;
  torch::Tensor latents_;  // [slots, latent]
  std::vector<int64_t> indices_;
};

}  // namespace

void SetComputeThreads(int threads) {
  at::set_num_threads(threads);
  // Looked up at run time: a weak reference would be null if the linker resolved it, and LibTorch
  // may use another library.
  static const auto set_threads =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"));
  if (set_threads != nullptr) set_threads(threads);
}

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kBytes = 1 << 30;
  constexpr int kLargestMmapThreshold = 32 << 20;  // that glibc takes
  mallopt(M_TRIM_THRESHOLD, kBytes);
  mallopt(M_MMAP_THRESHOLD, kLargestMmapThreshold);
#endif
}

bool HasCuda() { return torch::cuda::is_available(); }

absl::Status CheckDevice(Device device) {
  if (device != Device::kCuda || HasCuda()) return absl::OkStatus();
  return absl::InvalidArgumentError("device: cuda given, but LibTorch finds no CUDA device here");
}

NetworkSnapshot::NetworkSnapshot(std::unique_ptr<const Weights> weights)
    : weights_(std::move(weights)) {}

NetworkSnapshot::~NetworkSnapshot() = default;

const v1::NetworkConfig& NetworkSnapshot::config() const { return weights_->config; }

absl::StatusOr<std::unique_ptr<LatentModel>> NetworkSnapshot::MakeLatentModel(
    const std::shared_ptr<const NetworkSnapshot>& snapshot, uint32_t slots) {
  try {
    const c10::InferenceMode inference;
    return std::make_unique<SnapshotLatentModel>(snapshot, slots);
  } catch (const c10::Error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot keep ", slots, " latent states: ", error.what_without_backtrace()));
  }
}

absl::Status NetworkSnapshot::Evaluate(absl::Span<const float> observations,
                                       absl::Span<float> values, absl::Span<float> logits) const {
  assert(observations.size() == values.size() * config().observation_size());
  if (values.empty()) return absl::OkStatus();
  return OnDevice(absl::StrCat("the values of ", values.size(), " positions"), [&] {
    const c10::InferenceMode inference;
    weights_->Predict(weights_->Represent(observations),
                      {.values = values, .rewards = {}, .logits = logits});
  });
}

absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> Network::Snapshot(
    const EvaluationOptions& options) const {
  MMZ_RETURN_IF_ERROR(CheckDevice(options.device));
  try {
    const c10::InferenceMode inference;
    return std::make_shared<const NetworkSnapshot>(
        std::make_unique<const NetworkSnapshot::Weights>(config_, options, *module_));
  } catch (const c10::Error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot prepare the network: ", error.what_without_backtrace()));
  }
}

}  // namespace mallocmuzero
