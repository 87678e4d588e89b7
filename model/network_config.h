// Sizes of the networks: presets, checks, cost.

#ifndef MALLOCMUZERO_MODEL_NETWORK_CONFIG_H_
#define MALLOCMUZERO_MODEL_NETWORK_CONFIG_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/observation.pb.h"

namespace mallocmuzero {

// "tiny" (trains on two CPU cores), "small" or "base" (a GPU), for this build's observations and
// actions. InvalidArgument for another name.
absl::StatusOr<v1::NetworkConfig> NetworkPreset(absl::string_view name);

// Dynamics [latent + actions] -> hidden -> hidden with a reward head hidden -> hidden -> support,
// prediction hidden -> hidden -> actions and support: what speed is compared on. The representation
// is the one of "tiny". Check it with ValidateNetworkConfig: the sizes may come from a user.
v1::NetworkConfig ReferenceNetworkConfig(uint32_t hidden, uint32_t support, uint32_t actions);

// InvalidArgument, one line that names the field, if no network can be built from the config or it
// is not for this build's observations.
absl::Status ValidateNetworkConfig(const v1::NetworkConfig& config);

// InvalidArgument, one line, if the network is not for this build's actions: then it can be
// measured, but neither trained nor played with. A valid config may be of any number of actions.
absl::Status CheckPlayable(const v1::NetworkConfig& config);

// InvalidArgument if observations of that layout are not what this build's networks read.
absl::Status CheckObservationSpec(const v1::ObservationSpec& spec);

// Floating-point operations of the matrix products (2 a multiplication) of one latent state.
struct NetworkCost {
  uint64_t root_flops = 0;  // representation and prediction
  uint64_t step_flops = 0;  // dynamics and prediction
};
NetworkCost CostOf(const v1::NetworkConfig& config);

// Weights of such a network, without those of a consistency head.
uint64_t ParameterCountOf(const v1::NetworkConfig& config);

// Floats of the observation that the representation reads beside the picture of the fast memory and
// the window: capacity, bandwidth, decision, the current access, the last actions and accesses, the
// program.
uint32_t PlainFeatures();

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_NETWORK_CONFIG_H_
