#include "model/network.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/modules.h"
#include "model/network_config.h"
#include "simulator/core/file_io.h"
#include "simulator/core/status_macros.h"

namespace mallocmuzero {
namespace {

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::Status CheckWeight(const NamedTensor& tensor, const torch::Tensor& parameter) {
  const std::vector<int64_t> shape = parameter.sizes().vec();
  if (tensor.type != v1::CheckpointHeader::Tensor::TYPE_FLOAT32) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", tensor.name, " must be of type float32"));
  }
  if (tensor.shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, " has shape ",
                                                   ShapeText(tensor.shape), ", must be ",
                                                   ShapeText(shape)));
  }
  if (tensor.bytes.size() != parameter.nbytes()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name, " has ",
                                                   tensor.bytes.size(), " bytes, must have ",
                                                   parameter.nbytes()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Precision> ParsePrecision(absl::string_view text) {
  if (text == "fp32") return Precision::kFloat32;
  if (text == "bf16") return Precision::kBfloat16;
  return absl::InvalidArgumentError(
      absl::StrCat("precision is \"", text, "\", must be fp32 or bf16"));
}

absl::StatusOr<Device> ParseDevice(absl::string_view text) {
  if (text == "cpu") return Device::kCpu;
  if (text == "cuda") return Device::kCuda;
  return absl::InvalidArgumentError(absl::StrCat("device is \"", text, "\", must be cpu or cuda"));
}

Network::Network(const v1::NetworkConfig& config, uint64_t seed)
    : config_(config), module_(std::make_shared<MuZeroNetImpl>(config, seed)) {}

absl::StatusOr<std::unique_ptr<Network>> Network::Create(const v1::NetworkConfig& config,
                                                         uint64_t seed) {
  MMZ_RETURN_IF_ERROR(ValidateNetworkConfig(config));
  try {
    return std::unique_ptr<Network>(new Network(config, seed));
  } catch (const c10::Error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make the network: ", error.what_without_backtrace()));
  }
}

uint64_t Network::ParameterCount() const {
  int64_t count = 0;
  for (const torch::Tensor& parameter : module_->parameters()) count += parameter.numel();
  return static_cast<uint64_t>(count);
}

absl::StatusOr<std::unique_ptr<LatentModel>> Network::MakeLatentModel(
    uint32_t slots, const EvaluationOptions& options) const {
  absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> snapshot = Snapshot(options);
  if (!snapshot.ok()) return snapshot.status();
  return NetworkSnapshot::MakeLatentModel(*snapshot, slots);
}

absl::Status Network::CopyWeightsFrom(const Network& other) {
  if (SerializeDeterministically(config_) != SerializeDeterministically(other.config_)) {
    return absl::InvalidArgumentError("weights of a network of another config cannot be copied");
  }
  const torch::NoGradGuard no_gradient;
  const std::vector<torch::Tensor> from = other.module_->parameters();
  const std::vector<torch::Tensor> to = module_->parameters();
  for (size_t k = 0; k < to.size(); ++k) to[k].copy_(from[k]);
  return absl::OkStatus();
}

std::vector<NamedTensor> Network::ExportWeights() const {
  std::vector<NamedTensor> weights;
  // All parameters are float32.
  for (const auto& parameter : module_->named_parameters()) {
    weights.push_back(ToNamedTensor(parameter.key(), parameter.value()).value());
  }
  return weights;
}

absl::Status Network::ImportWeights(absl::Span<const NamedTensor> weights) {
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : weights) by_name[tensor.name] = &tensor;
  const auto parameters = module_->named_parameters();
  for (const auto& parameter : parameters) {
    const auto found = by_name.find(parameter.key());
    if (found == by_name.end()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", parameter.key(), " is missing"));
    }
    MMZ_RETURN_IF_ERROR(CheckWeight(*found->second, parameter.value()));
  }
  if (weights.size() != parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there are ", weights.size(), " tensors of weights, must be ", parameters.size()));
  }
  const torch::NoGradGuard no_gradient;
  for (const auto& parameter : parameters) {
    parameter.value().copy_(ToTorch(*by_name[parameter.key()]));
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
