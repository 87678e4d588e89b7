#include "model/network.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "model/modules.h"
#include "model/network_config.h"

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

// Whether only a learner needs the weight.
bool IsOfConsistency(absl::string_view name) { return absl::StartsWith(name, kConsistencyPrefix); }

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
    : config_(config), seed_(seed), module_(std::make_shared<MuZeroNetImpl>(config, seed)) {}

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
  return count;
}

void Network::AddConsistencyHead() {
  // The head gets other random numbers than the other weights.
  constexpr uint64_t kHeadSeed = 0x636f6e73697374;
  if (module_->consistency.is_empty()) module_->AddConsistencyHead(config_, seed_ ^ kHeadSeed);
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
  const auto from = other.module_->named_parameters();
  for (const auto& parameter : module_->named_parameters()) {
    const torch::Tensor* source = from.find(parameter.key());
    if (source != nullptr) parameter.value().copy_(*source);
  }
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
  size_t others = 0;
  for (const NamedTensor& tensor : weights) {
    by_name[tensor.name] = &tensor;
    if (!IsOfConsistency(tensor.name)) ++others;
  }
  // A head without given weights keeps its own; given weights without a head are ignored.
  const bool with_consistency = others < weights.size() && !module_->consistency.is_empty();
  std::vector<std::pair<std::string, torch::Tensor>> parameters;
  for (const auto& parameter : module_->named_parameters()) {
    if (IsOfConsistency(parameter.key()) && !with_consistency) continue;
    parameters.emplace_back(parameter.key(), parameter.value());
  }
  for (const auto& [name, parameter] : parameters) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " is missing"));
    }
    MMZ_RETURN_IF_ERROR(CheckWeight(*found->second, parameter));
  }
  const size_t given = with_consistency ? weights.size() : others;
  if (given != parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", given, " tensors of weights, must be ", parameters.size()));
  }
  const torch::NoGradGuard no_gradient;
  for (const auto& [name, parameter] : parameters) parameter.copy_(ToTorch(*by_name[name]));
  return absl::OkStatus();
}

}  // namespace mallocmuzero
