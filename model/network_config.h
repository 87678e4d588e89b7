// Sizes of the networks: presets, checks, costs.

#ifndef MALLOCMUZERO_MODEL_NETWORK_CONFIG_H_
#define MALLOCMUZERO_MODEL_NETWORK_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/observation.pb.h"

namespace mallocmuzero {

// "tiny" (trains on two CPU cores), "small" or "base" (a GPU), for this build's observations and
// actions. InvalidArgument for another name.
absl::StatusOr<v1::NetworkConfig> NetworkPreset(absl::string_view name);

// The names of the networks that NetworkPreset knows, the smallest first.
std::vector<std::string> NetworkPresetNames();

// A network for comparisons of speed. Dynamics: [latent + actions] -> hidden -> hidden, with a
// reward head hidden -> hidden -> support. Prediction: hidden -> hidden -> actions and support. The
// representation is the one of "tiny". Check it with ValidateNetworkConfig: the sizes may come from
// a user.
v1::NetworkConfig ReferenceNetworkConfig(uint32_t hidden, uint32_t support, uint32_t actions);

// InvalidArgument, one line that names the field, if no network can be built from the config or it
// is not for this build's observations.
absl::Status ValidateNetworkConfig(const v1::NetworkConfig& config);

// InvalidArgument, one line, if the network is not for this build's actions. Such a network can be
// measured, but neither trained nor played with. A valid config may have any number of actions.
absl::Status CheckPlayable(const v1::NetworkConfig& config);

// InvalidArgument if this build's networks do not read observations of that layout.
absl::Status CheckObservationSpec(const v1::ObservationSpec& spec);

// Floating-point operations of the matrix products of one latent state. A multiplication counts 2.
struct NetworkCost {
  uint64_t root_flops = 0;  // representation and prediction
  uint64_t step_flops = 0;  // dynamics and prediction
};
NetworkCost CostOf(const v1::NetworkConfig& config);

// The number of weights of such a network, without a consistency head.
uint64_t ParameterCountOf(const v1::NetworkConfig& config);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_NETWORK_CONFIG_H_
