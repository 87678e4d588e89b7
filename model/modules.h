// The networks as LibTorch modules, for the learner. No other header here includes LibTorch. This
// one includes only the parts that it needs, because torch/torch.h would double the time to
// compile.

#ifndef MALLOCMUZERO_MODEL_MODULES_H_
#define MALLOCMUZERO_MODEL_MODULES_H_

// ivalue.h comes first: in C++20, clang needs the full definition of this type where other headers
// only declare it.
#include <ATen/core/ivalue.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/architecture.h"
#include "model/network.h"
#include "model/tensors.h"
#include "model/value_codec.h"

namespace mallocmuzero {

// Tensors are float32, on the module's device, unless a comment says otherwise. Logits are not
// normalised and not masked: the caller knows the legal actions and masks the policy.

// Gives a latent state mean 0 and variance 1 over its floats (LayerNorm without parameters). The
// result is always float32.
torch::Tensor NormalizeLatent(const torch::Tensor& latent);

// Returns the same tensor. Its gradient is halved on the way back.
torch::Tensor HalveGradient(const torch::Tensor& tensor);

// One of the networks, as its graph describes it. Its parameters have the names of the graph's
// layers without the name of the network, and are in their order.
class GraphModuleImpl : public torch::nn::Module {
 public:
  explicit GraphModuleImpl(const Graph& graph);

  // From the graph's inputs to its outputs, in their order.
  std::vector<torch::Tensor> forward(const std::vector<torch::Tensor>& inputs);

  // The layer of that name, which the graph must have.
  torch::nn::Linear layer(absl::string_view name) const;

 private:
  torch::Tensor Evaluate(size_t node, const std::vector<torch::Tensor>& values) const;

  Graph graph_;
  std::vector<torch::nn::Linear> layers_;  // by node; null if it is not kLinear

  // For each node, the values that no later node and no output uses.
  std::vector<std::vector<Graph::Value>> spent_;
};
TORCH_MODULE(GraphModule);

struct PredictionOutput {
  torch::Tensor policy_logits;  // [batch, actions]
  torch::Tensor value_logits;   // [batch, bins]
};

struct InitialOutput {
  torch::Tensor latent;         // [batch, latent]
  torch::Tensor policy_logits;  // [batch, actions]
  torch::Tensor value_logits;   // [batch, bins]
};

struct RecurrentOutput {
  torch::Tensor latent;         // [batch, latent]
  torch::Tensor reward_logits;  // [batch, bins], of the step to `latent`
  torch::Tensor policy_logits;  // [batch, actions]
  torch::Tensor value_logits;   // [batch, bins]
};

// The prefix of the names of the head's weights.
inline constexpr char kConsistencyPrefix[] = "consistency.";

// Compares the latent states that the dynamics reach with those of the positions reached in the
// game, as SimSiam does (Chen and He, 2021) and EfficientZero after it (Ye et al., 2021, appendix
// A.1). It has LayerNorm without parameters instead of their batch normalisation, so that a row's
// loss does not depend on other rows.
class ConsistencyHeadImpl : public torch::nn::Module {
 public:
  explicit ConsistencyHeadImpl(int64_t latent);

  // Both return [batch, latent]. Project gives the projection of latent states; Predict gives, from
  // a projection, the predicted projection of the position reached.
  torch::Tensor Project(const torch::Tensor& latent);
  torch::Tensor Predict(const torch::Tensor& projection);

  // The negative cosine similarity [batch], -1 to 1, of the dynamics' states `latent` and the
  // representation's states `reached`, both [batch, latent]. No gradient passes through `reached`.
  torch::Tensor Loss(const torch::Tensor& latent, const torch::Tensor& reached);

  torch::nn::Linear projection_hidden{nullptr};
  torch::nn::Linear projection{nullptr};
  torch::nn::Linear prediction_hidden{nullptr};
  torch::nn::Linear prediction{nullptr};
};
TORCH_MODULE(ConsistencyHead);

// All networks together. A new one has a uniform policy, and values and rewards of 0.
class MuZeroNetImpl : public torch::nn::Module {
 public:
  // The config must be valid. Equal seeds give equal weights, with every version of LibTorch.
  MuZeroNetImpl(const v1::NetworkConfig& config, uint64_t seed);

  // The latent states [batch, latent] of observations [batch, observation_size].
  torch::Tensor Represent(const torch::Tensor& observations);

  // Evaluates the heads of latent states [batch, latent].
  PredictionOutput Predict(const torch::Tensor& latent);

  // Evaluates observations of decisions: [batch, observation_size].
  InitialOutput Initial(const torch::Tensor& observations);

  // Takes one step from each latent state [batch, latent] by actions [batch] of int64. Halves the
  // gradient of `latent`, as MuZero does, so that it does not grow with the number of steps.
  RecurrentOutput Recurrent(const torch::Tensor& latent, const torch::Tensor& actions);

  // Registers `consistency`, with weights from the seed. Other weights do not change.
  void AddConsistencyHead(const v1::NetworkConfig& config, uint64_t seed);

  GraphModule representation{nullptr};
  GraphModule dynamics{nullptr};
  GraphModule prediction{nullptr};
  ConsistencyHead consistency{nullptr};  // null unless AddConsistencyHead was called
};
TORCH_MODULE(MuZeroNet);

// The distributions [..., bins] of numbers [...], float32, on their device.
torch::Tensor EncodeTwoHot(const ValueCodec& codec, const torch::Tensor& numbers);

torch::Device DeviceOf(Device device);

// The centres of the bins [bins], float32, on a device.
torch::Tensor BinCenters(const ValueCodec& codec, const torch::Device& device);

// The numbers [...] that logits [..., bins] express, float32. `centers` are the BinCenters on the
// device of the logits.
torch::Tensor DecodeLogits(const ValueCodec& codec, const torch::Tensor& centers,
                           const torch::Tensor& logits);

// A copy for checkpoints. InvalidArgument for types other than float32, int64 and uint8.
absl::StatusOr<NamedTensor> ToNamedTensor(absl::string_view name, const torch::Tensor& tensor);

// A copy on the CPU.
torch::Tensor ToTorch(const NamedTensor& tensor);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_MODULES_H_
