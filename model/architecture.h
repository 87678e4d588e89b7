// The architecture of the networks. The modules, the exports, and the sizes of checkpoints and
// computations all follow from this one description.

#ifndef MALLOCMUZERO_MODEL_ARCHITECTURE_H_
#define MALLOCMUZERO_MODEL_ARCHITECTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/graph.h"

namespace mallocmuzero {

// The names of the networks; names of their layers begin with them.
inline constexpr absl::string_view kRepresentation = "representation.";
inline constexpr absl::string_view kDynamics = "dynamics.";
inline constexpr absl::string_view kPrediction = "prediction.";

// Names of the networks' inputs and outputs.
inline constexpr absl::string_view kObservation = "observation";     // [batch, observation_size]
inline constexpr absl::string_view kLatent = "latent";               // [batch, latent]
inline constexpr absl::string_view kAction = "action";               // [batch] of int64
inline constexpr absl::string_view kNextLatent = "next_latent";      // [batch, latent]
inline constexpr absl::string_view kRewardLogits = "reward_logits";  // [batch, bins]
inline constexpr absl::string_view kPolicyLogits = "policy_logits";  // [batch, actions]
inline constexpr absl::string_view kValueLogits = "value_logits";    // [batch, bins]

// All that a search evaluates, without a consistency head. Logits are neither normalised nor
// masked. Immutable.
class Architecture {
 public:
  // The config must be valid (ValidateNetworkConfig).
  explicit Architecture(const v1::NetworkConfig& config);

  // From an observation to a latent state.
  const Graph& representation() const { return representation_; }

  // From a latent state and an action to the next latent state and the reward of the step.
  const Graph& dynamics() const { return dynamics_; }

  // From a latent state to its policy and its value.
  const Graph& prediction() const { return prediction_; }

  // The layers of all networks, in the order of the modules' parameters.
  absl::Span<const LinearLayer> layers() const& { return layers_; }
  absl::Span<const LinearLayer> layers() const&& = delete;  // they are the description's own

  // The layer of that name, which must exist.
  const LinearLayer& Layer(absl::string_view name) const;

 private:
  Graph representation_;
  Graph dynamics_;
  Graph prediction_;
  std::vector<LinearLayer> layers_;
};

// The name of the n-th residual block, of the representation or the dynamics.
std::string BlockName(size_t n);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_ARCHITECTURE_H_
