// The networks as LibTorch modules, for the learner. The only header here that includes LibTorch,
// and of that no more than it needs: torch/torch.h would double the time to compile.

#ifndef MALLOCMUZERO_MODEL_MODULES_H_
#define MALLOCMUZERO_MODEL_MODULES_H_

// ivalue.h first, for clang: in C++20 it wants this type complete where other headers only name it.
#include <ATen/core/ivalue.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/tensors.h"
#include "model/value_codec.h"

namespace mallocmuzero {

// Tensors are float32 of the module's own type and device unless said otherwise; logits are not
// normalised and not masked: whoever knows the legal actions masks the policy's.

// A latent state has mean 0 and variance 1 over its floats (LayerNorm without parameters). Unlike
// rescaling to [0, 1] by minimum and maximum, that is one operation, its gradient reaches all
// floats, and no single float sets the scale. float32, whatever comes in.
torch::Tensor NormalizeLatent(const torch::Tensor& latent);

// The same tensor; its gradient is scaled by 0.5 on the way back.
torch::Tensor HalveGradient(const torch::Tensor& tensor);

// x + out(relu(in(inputs))), where inputs are made of x.
class ResidualBlockImpl : public torch::nn::Module {
 public:
  ResidualBlockImpl(int64_t inputs, int64_t width);

  // x: [batch, width], inputs: [batch, inputs]. Returns [batch, width].
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& inputs);

  torch::nn::Linear in{nullptr};
  torch::nn::Linear out{nullptr};  // no bias
};
TORCH_MODULE(ResidualBlock);

// x + relu(convolution of width 3 along time).
class TimeConvolutionImpl : public torch::nn::Module {
 public:
  explicit TimeConvolutionImpl(int64_t channels);

  // [batch, times, channels] to the same shape. Outside the picture is 0.
  torch::Tensor forward(const torch::Tensor& x);

  // Of the channels one step before, now, and one step after: one matrix product for a convolution.
  torch::nn::Linear taps{nullptr};
};
TORCH_MODULE(TimeConvolution);

// Multi-head attention of the current access to itself and the window of accesses to come. The
// projection of keys is folded into the one of queries, which spares one for every row.
class AccessAttentionImpl : public torch::nn::Module {
 public:
  AccessAttentionImpl(int64_t features, int64_t channels, int64_t heads);

  // accesses: [batch, 1 + window, features], the current one first; rows that are not there count
  // for nothing. Returns [batch, heads * channels].
  torch::Tensor forward(const torch::Tensor& accesses);

  torch::nn::Linear embed{nullptr};
  torch::nn::Linear query{nullptr};
  int64_t heads = 0;
};
TORCH_MODULE(AccessAttention);

// An observation to a latent state.
class RepresentationImpl : public torch::nn::Module {
 public:
  explicit RepresentationImpl(const v1::NetworkConfig& config);

  // observations: [batch, observation_size]. Returns [batch, latent].
  torch::Tensor forward(const torch::Tensor& observations);

  torch::nn::Linear memory_stem{nullptr};  // of a time's address bins and its capacity
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

// A latent state and an action to the next latent state and the reward between them.
class DynamicsImpl : public torch::nn::Module {
 public:
  explicit DynamicsImpl(const v1::NetworkConfig& config);

  // latent: [batch, latent], actions: [batch] of int64.
  DynamicsOutput forward(const torch::Tensor& latent, const torch::Tensor& actions);

  std::vector<ResidualBlock> blocks;  // the first one takes the action, one-hot, too
  torch::nn::Linear reward_hidden{nullptr};
  torch::nn::Linear reward{nullptr};
  int64_t actions = 0;
};
TORCH_MODULE(Dynamics);

struct PredictionOutput {
  torch::Tensor policy_logits;  // [batch, actions]
  torch::Tensor value_logits;   // [batch, bins]
};

// What to do in a latent state and what is still to come.
class PredictionImpl : public torch::nn::Module {
 public:
  explicit PredictionImpl(const v1::NetworkConfig& config);

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

// With which the names of the head's weights begin.
inline constexpr char kConsistencyPrefix[] = "consistency.";

// What latent states are compared through while the dynamics learn to reach those of the positions
// really reached: SimSiam (Chen and He, 2021) as EfficientZero has it (Ye et al., 2021, appendix
// A.1). LayerNorm without parameters stands for their batch normalisation, so that a row's loss
// does not depend on the others.
class ConsistencyHeadImpl : public torch::nn::Module {
 public:
  explicit ConsistencyHeadImpl(int64_t latent);

  // Both to [batch, latent]: a projection of latent states, and of that what the projection of the
  // position reached should be.
  torch::Tensor Project(const torch::Tensor& latent);
  torch::Tensor Predict(const torch::Tensor& projection);

  // The negative cosine similarity [batch], -1 to 1, of the states `latent` that the dynamics gave
  // and those of the representation, `reached`; both [batch, latent]. No gradient passes through
  // `reached`.
  torch::Tensor Loss(const torch::Tensor& latent, const torch::Tensor& reached);

  torch::nn::Linear projection_hidden{nullptr};
  torch::nn::Linear projection{nullptr};
  torch::nn::Linear prediction_hidden{nullptr};
  torch::nn::Linear prediction{nullptr};
};
TORCH_MODULE(ConsistencyHead);

// All of them. A network fresh from the constructor has a uniform policy, values and rewards 0.
class MuZeroNetImpl : public torch::nn::Module {
 public:
  // The config must be valid. Equal seeds give equal weights, with every version of LibTorch.
  MuZeroNetImpl(const v1::NetworkConfig& config, uint64_t seed);

  // The observations of decisions: [batch, observation_size].
  InitialOutput Initial(const torch::Tensor& observations);

  // One step from each latent state [batch, latent] by actions [batch] of int64. Halves the
  // gradient of `latent`, as MuZero does, so that it does not grow with the steps unrolled.
  RecurrentOutput Recurrent(const torch::Tensor& latent, const torch::Tensor& actions);

  // Registers `consistency`, with weights from the seed; those of the others stay.
  void AddConsistencyHead(const v1::NetworkConfig& config, uint64_t seed);

  Representation representation{nullptr};
  Dynamics dynamics{nullptr};
  Prediction prediction{nullptr};
  ConsistencyHead consistency{nullptr};  // for training only, and then only if asked for
};
TORCH_MODULE(MuZeroNet);

// The distributions [..., bins] of numbers [...], float32, on their device.
torch::Tensor EncodeTwoHot(const ValueCodec& codec, const torch::Tensor& numbers);

// The numbers [...] that logits [..., bins] stand for, float32.
torch::Tensor DecodeLogits(const ValueCodec& codec, const torch::Tensor& logits);

// Copies, for checkpoints. Types other than float32, int64 and uint8 are InvalidArgument.
absl::StatusOr<NamedTensor> ToNamedTensor(absl::string_view name, const torch::Tensor& tensor);

// A copy on the CPU.
torch::Tensor ToTorch(const NamedTensor& tensor);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_MODULES_H_
