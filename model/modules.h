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

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/architecture.h"
#include "model/tensors.h"
#include "model/value_codec.h"

namespace mallocmuzero {

// Tensors are float32, on the module's device, unless a comment says otherwise. Logits are not
// normalised and not masked: the caller knows the legal actions and masks the policy.

// Gives a latent state mean 0 and variance 1 over its floats (LayerNorm without parameters).
// Compared with rescaling to [0, 1] by minimum and maximum, this is one operation, its gradient
// reaches all floats, and no single float sets the scale. The result is always float32.
torch::Tensor NormalizeLatent(const torch::Tensor& latent);

// Returns the same tensor. Its gradient is halved on the way back.
torch::Tensor HalveGradient(const torch::Tensor& tensor);

// Computes x + out(relu(in(inputs))), where the caller makes inputs of x.
class ResidualBlockImpl : public torch::nn::Module {
 public:
  ResidualBlockImpl(const LinearLayer& in_layer, const LinearLayer& out_layer);

  // x: [batch, width], inputs: [batch, inputs]. Returns [batch, width].
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& inputs);

  torch::nn::Linear in{nullptr};
  torch::nn::Linear out{nullptr};  // no bias
};
TORCH_MODULE(ResidualBlock);

// x + relu(convolution of width 3 along time).
class TimeConvolutionImpl : public torch::nn::Module {
 public:
  explicit TimeConvolutionImpl(const LinearLayer& taps_layer);

  // From [batch, times, channels] to the same shape. Before the first time and behind the last one
  // the input is 0.
  torch::Tensor forward(const torch::Tensor& x);

  // Reads the channels one step before, now, and one step after: a convolution as one matrix
  // product.
  torch::nn::Linear taps{nullptr};
};
TORCH_MODULE(TimeConvolution);

// Multi-head attention from the current access to itself and the window of later accesses. The
// query projection includes the projection of keys, so that keys need no product for every row.
class AccessAttentionImpl : public torch::nn::Module {
 public:
  AccessAttentionImpl(const LinearLayer& embed_layer, const LinearLayer& query_layer);

  // accesses: [batch, 1 + window, features], the current one first. Rows behind the end of the
  // program are masked. Returns [batch, heads * channels].
  torch::Tensor forward(const torch::Tensor& accesses);

  torch::nn::Linear embed{nullptr};
  torch::nn::Linear query{nullptr};
};
TORCH_MODULE(AccessAttention);

// From an observation to a latent state.
class RepresentationImpl : public torch::nn::Module {
 public:
  RepresentationImpl(const v1::NetworkConfig& config, const Architecture& architecture);

  // observations: [batch, observation_size]. Returns [batch, latent].
  torch::Tensor forward(const torch::Tensor& observations);

  torch::nn::Linear memory_stem{nullptr};  // reads the address bins and the capacity of one time
  std::vector<TimeConvolution> memory_blocks;
  AccessAttention accesses{nullptr};
  torch::nn::Linear trunk{nullptr};
  std::vector<ResidualBlock> blocks;
};
TORCH_MODULE(Representation);

struct DynamicsOutput {
  torch::Tensor latent;         // [batch, latent]
  torch::Tensor reward_logits;  // [batch, bins]
};

// From a latent state and an action to the next latent state and the reward of the step.
class DynamicsImpl : public torch::nn::Module {
 public:
  DynamicsImpl(const v1::NetworkConfig& config, const Architecture& architecture);

  // latent: [batch, latent], actions: [batch] of int64.
  DynamicsOutput forward(const torch::Tensor& latent, const torch::Tensor& actions);

  std::vector<ResidualBlock> blocks;  // the first one also reads the one-hot action
  torch::nn::Linear reward_hidden{nullptr};
  torch::nn::Linear reward{nullptr};
  int64_t actions = 0;
};
TORCH_MODULE(Dynamics);

struct PredictionOutput {
  torch::Tensor policy_logits;  // [batch, actions]
  torch::Tensor value_logits;   // [batch, bins]
};

// The policy and the value of a latent state.
class PredictionImpl : public torch::nn::Module {
 public:
  explicit PredictionImpl(const Architecture& architecture);

  // latent: [batch, latent].
  PredictionOutput forward(const torch::Tensor& latent);

  torch::nn::Linear hidden{nullptr};
  torch::nn::Linear policy{nullptr};
  torch::nn::Linear value{nullptr};
};
TORCH_MODULE(Prediction);

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

  // Evaluates observations of decisions: [batch, observation_size].
  InitialOutput Initial(const torch::Tensor& observations);

  // Takes one step from each latent state [batch, latent] by actions [batch] of int64. Halves the
  // gradient of `latent`, as MuZero does, so that it does not grow with the number of steps.
  RecurrentOutput Recurrent(const torch::Tensor& latent, const torch::Tensor& actions);

  // Registers `consistency`, with weights from the seed. Other weights do not change.
  void AddConsistencyHead(const v1::NetworkConfig& config, uint64_t seed);

  Representation representation{nullptr};
  Dynamics dynamics{nullptr};
  Prediction prediction{nullptr};
  ConsistencyHead consistency{nullptr};  // null unless AddConsistencyHead was called
};
TORCH_MODULE(MuZeroNet);

// The distributions [..., bins] of numbers [...], float32, on their device.
torch::Tensor EncodeTwoHot(const ValueCodec& codec, const torch::Tensor& numbers);

// The numbers [...] that logits [..., bins] express, float32.
torch::Tensor DecodeLogits(const ValueCodec& codec, const torch::Tensor& logits);

// A copy for checkpoints. InvalidArgument for types other than float32, int64 and uint8.
absl::StatusOr<NamedTensor> ToNamedTensor(absl::string_view name, const torch::Tensor& tensor);

// A copy on the CPU.
torch::Tensor ToTorch(const NamedTensor& tensor);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_MODULES_H_
