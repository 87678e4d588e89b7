#include "learner/optimizer_state.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/modules.h"

namespace mallocmuzero {
namespace {

using torch::optim::AdamW;
using torch::optim::AdamWParamState;
using Type = v1::CheckpointHeader::Tensor;
using TensorsByName = absl::flat_hash_map<std::string, const NamedTensor*>;

std::string PrefixOf(const std::string& parameter) {
  return absl::StrCat("optimizer/", parameter, "/");
}

// The tensor of that name, type and shape; an undefined one if there is none.
torch::Tensor Find(const TensorsByName& tensors, const std::string& name, NamedTensor::Type type,
                   at::IntArrayRef shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return {};
  const NamedTensor& tensor = *found->second;
  return tensor.type == type && shape == tensor.shape ? ToTorch(tensor) : torch::Tensor();
}

// The state of a parameter; null if a part of it is missing or is not that of such a parameter.
std::unique_ptr<AdamWParamState> StateOf(const TensorsByName& tensors, const std::string& prefix,
                                         const torch::Tensor& parameter) {
  const at::IntArrayRef shape = parameter.sizes();
  const torch::Tensor updates = Find(tensors, prefix + "step", Type::TYPE_INT64, {1});
  const torch::Tensor mean = Find(tensors, prefix + "exp_avg", Type::TYPE_FLOAT32, shape);
  const torch::Tensor square = Find(tensors, prefix + "exp_avg_sq", Type::TYPE_FLOAT32, shape);
  if (!updates.defined() || !mean.defined() || !square.defined()) return nullptr;
  auto state = std::make_unique<AdamWParamState>();
  state->step(updates.item<int64_t>());
  state->exp_avg(mean.to(parameter.device()));
  state->exp_avg_sq(square.to(parameter.device()));
  // The correction for the first updates would divide by 0 after update -1.
  return state->step() >= 0 ? std::move(state) : nullptr;
}

}  // namespace

std::vector<NamedTensor> ExportAdamW(const torch::nn::Module& net, const AdamW& optimizer) {
  std::vector<NamedTensor> exported;
  for (const auto& parameter : net.named_parameters()) {
    const auto found = optimizer.state().find(StateKey(parameter.value()));
    if (found == optimizer.state().end()) continue;  // no update yet
    const auto& state = static_cast<const AdamWParamState&>(*found->second);
    const std::pair<const char*, torch::Tensor> parts[] = {
        {"step", torch::tensor({state.step()}, torch::kInt64)},
        {"exp_avg", state.exp_avg()},
        {"exp_avg_sq", state.exp_avg_sq()}};
    for (const auto& [part, tensor] : parts) {
      exported.push_back(*ToNamedTensor(absl::StrCat(PrefixOf(parameter.key()), part), tensor));
    }
  }
  return exported;
}

absl::Status ImportAdamW(absl::Span<const NamedTensor> state, const torch::nn::Module& net,
                         AdamW& optimizer) {
  TensorsByName by_name;
  for (const NamedTensor& tensor : state) by_name[tensor.name] = &tensor;
  std::vector<std::pair<torch::Tensor, std::unique_ptr<AdamWParamState>>> restored;
  for (const auto& parameter : net.named_parameters()) {
    const std::string prefix = PrefixOf(parameter.key());
    // Without any state there was no update with a finite gradient yet.
    const bool may_be_new = by_name.empty() ||
                            absl::StartsWith(parameter.key(), kConsistencyPrefix) ||
                            absl::StartsWith(parameter.key(), kDynamics);
    if (may_be_new && !by_name.contains(prefix + "step")) continue;
    std::unique_ptr<AdamWParamState> entry = StateOf(by_name, prefix, parameter.value());
    if (entry == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(prefix, ": the optimiser's state is missing or of another network"));
    }
    restored.emplace_back(parameter.value(), std::move(entry));
  }
  auto& target = optimizer.state();
  target.clear();
  for (auto& [parameter, entry] : restored) target[StateKey(parameter)] = std::move(entry);
  return absl::OkStatus();
}

}  // namespace mallocmuzero
