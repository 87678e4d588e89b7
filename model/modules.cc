#include "model/modules.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "env/observation_layout.h"

namespace mallocmuzero {
namespace {

namespace layout = observation;
namespace nn = torch::nn;

using TensorType = v1::CheckpointHeader::Tensor;

constexpr int64_t kRows = 1 + layout::kWindow;

nn::Linear MakeLinear(const LinearLayer& layer) {
  return nn::Linear(
      nn::LinearOptions(static_cast<int64_t>(layer.inputs), static_cast<int64_t>(layer.outputs))
          .bias(layer.has_bias));
}

// The block of a network whose layers begin with `name`.
ResidualBlock MakeBlock(const Architecture& architecture, const std::string& name) {
  return ResidualBlock(architecture.Layer(absl::StrCat(name, ".in")),
                       architecture.Layer(absl::StrCat(name, ".out")));
}

// Columns [begin, begin + size) of the observations.
torch::Tensor Columns(const torch::Tensor& observations, size_t begin, size_t size) {
  return observations.narrow(1, static_cast<int64_t>(begin), static_cast<int64_t>(size));
}

// Weights are uniform with variance 1 / inputs, biases are 0. The numbers come from a generator of
// this project, because LibTorch's may change.
void InitializeWeights(nn::Module& module, uint64_t seed) {
  const torch::NoGradGuard no_gradient;
  Random random(seed);
  for (const auto& parameter : module.named_parameters()) {
    const torch::Tensor& tensor = parameter.value();
    if (tensor.dim() < 2) {
      tensor.zero_();
      continue;
    }
    const double bound = std::sqrt(3.0 / static_cast<double>(tensor.size(1)));
    float* weights = tensor.data_ptr<float>();
    for (int64_t k = 0; k < tensor.numel(); ++k) {
      weights[k] = static_cast<float>((2 * random.Unit() - 1) * bound);
    }
  }
}

void SetZero(nn::Linear& layer) {
  const torch::NoGradGuard no_gradient;
  layer->weight.zero_();
  layer->bias.zero_();
}

torch::Tensor Centers(const ValueCodec& codec, const torch::Device& device) {
  const absl::Span<const float> centers = codec.centers();
  return torch::tensor(at::ArrayRef<float>(centers.data(), centers.size())).to(device);
}

}  // namespace

torch::Tensor NormalizeLatent(const torch::Tensor& latent) {
  // A learner may compute in bfloat16.
  return torch::layer_norm(latent.to(torch::kFloat32), {latent.size(-1)});
}

torch::Tensor HalveGradient(const torch::Tensor& tensor) {
  // Halves of floats are exact, and their sum is too.
  return tensor * 0.5 + tensor.detach() * 0.5;
}

ResidualBlockImpl::ResidualBlockImpl(const LinearLayer& in_layer, const LinearLayer& out_layer) {
  in = register_module("in", MakeLinear(in_layer));
  out = register_module("out", MakeLinear(out_layer));
}

torch::Tensor ResidualBlockImpl::forward(const torch::Tensor& x, const torch::Tensor& inputs) {
  return x + out(torch::relu(in(inputs)));
}

TimeConvolutionImpl::TimeConvolutionImpl(const LinearLayer& taps_layer) {
  taps = register_module("taps", MakeLinear(taps_layer));
}

torch::Tensor TimeConvolutionImpl::forward(const torch::Tensor& x) {
  const int64_t times = x.size(1);
  const torch::Tensor outside = x.new_zeros({x.size(0), 1, x.size(2)});
  const torch::Tensor before = torch::cat({outside, x.narrow(1, 0, times - 1)}, 1);
  const torch::Tensor after = torch::cat({x.narrow(1, 1, times - 1), outside}, 1);
  return x + torch::relu(taps(torch::cat({before, x, after}, 2)));
}

AccessAttentionImpl::AccessAttentionImpl(const LinearLayer& embed_layer,
                                         const LinearLayer& query_layer) {
  embed = register_module("embed", MakeLinear(embed_layer));
  query = register_module("query", MakeLinear(query_layer));
}

torch::Tensor AccessAttentionImpl::forward(const torch::Tensor& accesses) {
  const torch::Tensor rows = torch::relu(embed(accesses));
  const int64_t channels = rows.size(2);
  const int64_t heads = query->options.out_features() / channels;
  const double scale = 1 / std::sqrt(static_cast<double>(channels));
  const torch::Tensor queries = query(rows.select(1, 0) * scale).view({-1, heads, channels});
  // Far below all scores, but finite, so that the softmax of a row of them is defined.
  constexpr double kMissing = -1e4;
  const torch::Tensor missing = (1 - accesses.select(2, layout::kIsThere)) * kMissing;
  const torch::Tensor scores = torch::baddbmm(missing.unsqueeze(1), queries, rows.transpose(1, 2));
  return torch::bmm(torch::softmax(scores, -1), rows).flatten(1);
}

RepresentationImpl::RepresentationImpl(const v1::NetworkConfig& config,
                                       const Architecture& architecture) {
  const auto layer = [&](const std::string& name) -> const LinearLayer& {
    return architecture.Layer(absl::StrCat(kRepresentation, name));
  };
  memory_stem = register_module("memory_stem", MakeLinear(layer("memory_stem")));
  for (size_t n = 0; n < config.memory_blocks(); ++n) {
    const std::string name = MemoryBlockName(n);
    memory_blocks.push_back(register_module(name, TimeConvolution(layer(name + ".taps"))));
  }
  accesses = register_module("accesses",
                             AccessAttention(layer("accesses.embed"), layer("accesses.query")));
  trunk = register_module("trunk", MakeLinear(layer("trunk")));
  for (size_t n = 0; n < config.representation_blocks(); ++n) {
    blocks.push_back(register_module(
        BlockName(n), MakeBlock(architecture, absl::StrCat(kRepresentation, BlockName(n)))));
  }
}

torch::Tensor RepresentationImpl::forward(const torch::Tensor& observations) {
  const torch::Tensor picture =
      Columns(observations, layout::kMemoryOffset, layout::kCapacityOffset)
          .view({-1, layout::kMemoryChannels, layout::kTimes, layout::kAddressBins});
  const torch::Tensor capacity = Columns(observations, layout::kCapacityOffset, layout::kTimes);
  torch::Tensor memory = torch::relu(memory_stem(
      torch::cat({picture.select(1, 0), picture.select(1, 1), capacity.unsqueeze(2)}, 2)));
  for (TimeConvolution& block : memory_blocks) memory = block(memory);

  const torch::Tensor window =
      Columns(observations, layout::kAccessesOffset, kRows * layout::kAccessFeatures)
          .view({-1, kRows, layout::kAccessFeatures});
  // These blocks of the observation end with the current access.
  const torch::Tensor now =
      Columns(observations, layout::kCapacityOffset,
              layout::kAccessesOffset + layout::kAccessFeatures - layout::kCapacityOffset);
  const torch::Tensor rest =
      Columns(observations, layout::kActionsOffset, layout::kSize - layout::kActionsOffset);
  torch::Tensor latent =
      torch::relu(trunk(torch::cat({memory.flatten(1), accesses(window), now, rest}, 1)));
  for (ResidualBlock& block : blocks) latent = block(latent, NormalizeLatent(latent));
  return NormalizeLatent(latent);
}

DynamicsImpl::DynamicsImpl(const v1::NetworkConfig& config, const Architecture& architecture)
    : actions(config.actions()) {
  for (size_t n = 0; n < config.dynamics_blocks(); ++n) {
    blocks.push_back(register_module(
        BlockName(n), MakeBlock(architecture, absl::StrCat(kDynamics, BlockName(n)))));
  }
  reward_hidden =
      register_module("reward_hidden", MakeLinear(architecture.Layer("dynamics.reward_hidden")));
  reward = register_module("reward", MakeLinear(architecture.Layer("dynamics.reward")));
}

DynamicsOutput DynamicsImpl::forward(const torch::Tensor& latent, const torch::Tensor& actions) {
  const torch::Tensor one_hot = torch::one_hot(actions, this->actions).to(latent.scalar_type());
  torch::Tensor next = blocks[0](latent, torch::cat({latent, one_hot}, 1));
  for (size_t k = 1; k < blocks.size(); ++k) next = blocks[k](next, NormalizeLatent(next));
  next = NormalizeLatent(next);
  return {.latent = next, .reward_logits = reward(torch::relu(reward_hidden(next)))};
}

PredictionImpl::PredictionImpl(const Architecture& architecture) {
  hidden = register_module("hidden", MakeLinear(architecture.Layer("prediction.hidden")));
  policy = register_module("policy", MakeLinear(architecture.Layer("prediction.policy")));
  value = register_module("value", MakeLinear(architecture.Layer("prediction.value")));
}

PredictionOutput PredictionImpl::forward(const torch::Tensor& latent) {
  const torch::Tensor features = torch::relu(hidden(latent));
  return {.policy_logits = policy(features), .value_logits = value(features)};
}

ConsistencyHeadImpl::ConsistencyHeadImpl(int64_t latent) {
  projection_hidden = register_module("projection_hidden", nn::Linear(latent, latent));
  projection = register_module("projection", nn::Linear(latent, latent));
  // A bottleneck, as in SimSiam.
  const int64_t narrow = (latent + 1) / 2;
  prediction_hidden = register_module("prediction_hidden", nn::Linear(latent, narrow));
  prediction = register_module("prediction", nn::Linear(narrow, latent));
}

torch::Tensor ConsistencyHeadImpl::Project(const torch::Tensor& latent) {
  return NormalizeLatent(projection(torch::relu(NormalizeLatent(projection_hidden(latent)))));
}

torch::Tensor ConsistencyHeadImpl::Predict(const torch::Tensor& projection) {
  return prediction(torch::relu(NormalizeLatent(prediction_hidden(projection))));
}

torch::Tensor ConsistencyHeadImpl::Loss(const torch::Tensor& latent, const torch::Tensor& reached) {
  torch::Tensor target;
  {
    const torch::NoGradGuard no_gradient;
    target = Project(reached);
  }
  return -torch::cosine_similarity(Predict(Project(latent)), target, /*dim=*/-1, /*eps=*/1e-8);
}

MuZeroNetImpl::MuZeroNetImpl(const v1::NetworkConfig& config, uint64_t seed) {
  const Architecture architecture(config);
  representation = register_module("representation", Representation(config, architecture));
  dynamics = register_module("dynamics", Dynamics(config, architecture));
  prediction = register_module("prediction", Prediction(architecture));
  InitializeWeights(*this, seed);
  SetZero(dynamics->reward);
  SetZero(prediction->policy);
  SetZero(prediction->value);
}

InitialOutput MuZeroNetImpl::Initial(const torch::Tensor& observations) {
  const torch::Tensor latent = representation(observations);
  PredictionOutput prediction = this->prediction(latent);
  return {.latent = latent,
          .policy_logits = std::move(prediction.policy_logits),
          .value_logits = std::move(prediction.value_logits)};
}

RecurrentOutput MuZeroNetImpl::Recurrent(const torch::Tensor& latent,
                                         const torch::Tensor& actions) {
  DynamicsOutput dynamics = this->dynamics(HalveGradient(latent), actions);
  PredictionOutput prediction = this->prediction(dynamics.latent);
  return {.latent = std::move(dynamics.latent),
          .reward_logits = std::move(dynamics.reward_logits),
          .policy_logits = std::move(prediction.policy_logits),
          .value_logits = std::move(prediction.value_logits)};
}

void MuZeroNetImpl::AddConsistencyHead(const v1::NetworkConfig& config, uint64_t seed) {
  consistency = register_module("consistency", ConsistencyHead(config.latent()));
  InitializeWeights(*consistency, seed);
}

torch::Tensor EncodeTwoHot(const ValueCodec& codec, const torch::Tensor& numbers) {
  const double limit = codec.limit();
  const int64_t last = static_cast<int64_t>(codec.bins()) - 1;
  const torch::Tensor x = numbers.to(torch::kFloat32);
  const torch::Tensor scale = torch::sign(x) * torch::log1p(torch::abs(x) / codec.resolution());
  const torch::Tensor position =
      (torch::clamp(scale, -limit, limit) + limit) * (static_cast<double>(last) / (2 * limit));
  const torch::Tensor lower = torch::clamp(torch::floor(position), 0, last - 1);
  const torch::Tensor upper_weight = (position - lower).unsqueeze(-1);
  const torch::Tensor index = lower.to(torch::kInt64).unsqueeze(-1);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.push_back(last + 1);
  return torch::zeros(shape, x.options())
      .scatter_(-1, index, 1 - upper_weight)
      .scatter_(-1, index + 1, upper_weight);
}

torch::Tensor DecodeLogits(const ValueCodec& codec, const torch::Tensor& logits) {
  const torch::Tensor probabilities = torch::softmax(logits, -1, torch::kFloat32);
  const torch::Tensor z = torch::matmul(probabilities, Centers(codec, logits.device()));
  return torch::sign(z) * torch::expm1(torch::abs(z)) * codec.resolution();
}

absl::StatusOr<NamedTensor> ToNamedTensor(absl::string_view name, const torch::Tensor& tensor) {
  NamedTensor named = {.name = std::string(name), .shape = tensor.sizes().vec()};
  if (tensor.scalar_type() == torch::kFloat32) {
    named.type = TensorType::TYPE_FLOAT32;
  } else if (tensor.scalar_type() == torch::kInt64) {
    named.type = TensorType::TYPE_INT64;
  } else if (tensor.scalar_type() == torch::kUInt8) {
    named.type = TensorType::TYPE_UINT8;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", name, ": type ", c10::toString(tensor.scalar_type()),
                     " cannot be stored, only float32, int64 and uint8"));
  }
  const torch::Tensor local = tensor.detach().to(torch::kCPU).contiguous();
  named.bytes.assign(static_cast<const char*>(local.data_ptr()), local.nbytes());
  return named;
}

torch::Tensor ToTorch(const NamedTensor& tensor) {
  torch::ScalarType type = torch::kFloat32;
  if (tensor.type == TensorType::TYPE_INT64) type = torch::kInt64;
  if (tensor.type == TensorType::TYPE_UINT8) type = torch::kUInt8;
  torch::Tensor result = torch::empty(tensor.shape, type);
  std::memcpy(result.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  return result;
}

}  // namespace mallocmuzero
