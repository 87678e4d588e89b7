#include "model/modules.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"

namespace mallocmuzero {
namespace {

namespace nn = torch::nn;

using TensorType = v1::CheckpointHeader::Tensor;

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

void SetZero(nn::Linear layer) {
  const torch::NoGradGuard no_gradient;
  layer->weight.zero_();
  layer->bias.zero_();
}

}  // namespace

torch::Tensor NormalizeLatent(const torch::Tensor& latent) {
  // A learner may compute in bfloat16.
  return torch::layer_norm(latent.to(torch::kFloat32), {latent.size(-1)}, {}, {}, Graph::kEpsilon);
}

torch::Tensor HalveGradient(const torch::Tensor& tensor) {
  // Halves of floats are exact, and their sum is too.
  return tensor * 0.5 + tensor.detach() * 0.5;
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
  representation = register_module("representation", GraphModule(architecture.representation()));
  dynamics = register_module("dynamics", GraphModule(architecture.dynamics()));
  prediction = register_module("prediction", GraphModule(architecture.prediction()));
  InitializeWeights(*this, seed);
  SetZero(dynamics->layer("dynamics.reward"));
  SetZero(prediction->layer("prediction.policy"));
  SetZero(prediction->layer("prediction.value"));
}

torch::Tensor MuZeroNetImpl::Represent(const torch::Tensor& observations) {
  return representation->forward({observations})[0];
}

PredictionOutput MuZeroNetImpl::Predict(const torch::Tensor& latent) {
  std::vector<torch::Tensor> outputs = prediction->forward({latent});
  return {.policy_logits = std::move(outputs[0]), .value_logits = std::move(outputs[1])};
}

InitialOutput MuZeroNetImpl::Initial(const torch::Tensor& observations) {
  const torch::Tensor latent = Represent(observations);
  PredictionOutput predicted = Predict(latent);
  return {.latent = latent,
          .policy_logits = std::move(predicted.policy_logits),
          .value_logits = std::move(predicted.value_logits)};
}

RecurrentOutput MuZeroNetImpl::Recurrent(const torch::Tensor& latent,
                                         const torch::Tensor& actions) {
  std::vector<torch::Tensor> next = dynamics->forward({HalveGradient(latent), actions});
  PredictionOutput predicted = Predict(next[0]);
  return {.latent = std::move(next[0]),
          .reward_logits = std::move(next[1]),
          .policy_logits = std::move(predicted.policy_logits),
          .value_logits = std::move(predicted.value_logits)};
}

void MuZeroNetImpl::AddConsistencyHead(const v1::NetworkConfig& config, uint64_t seed) {
  consistency = register_module("consistency", ConsistencyHead(config.latent()));
  InitializeWeights(*consistency, seed);
}

torch::Tensor EncodeTwoHot(const ValueCodec& codec, const torch::Tensor& numbers) {
  const double limit = codec.limit();
  const int64_t last = codec.bins() - 1;
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

torch::Device DeviceOf(Device device) {
  return device == Device::kCuda ? torch::kCUDA : torch::kCPU;
}

torch::Tensor BinCenters(const ValueCodec& codec, const torch::Device& device) {
  const absl::Span<const float> centers = codec.centers();
  return torch::tensor(at::ArrayRef<float>(centers.data(), centers.size())).to(device);
}

torch::Tensor DecodeLogits(const ValueCodec& codec, const torch::Tensor& centers,
                           const torch::Tensor& logits) {
  const torch::Tensor probabilities = torch::softmax(logits, -1, torch::kFloat32);
  const torch::Tensor z = torch::matmul(probabilities, centers);
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
  if (tensor.bytes.empty()) return result;
  std::memcpy(result.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
  return result;
}

}  // namespace mallocmuzero
