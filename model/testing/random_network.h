// Random networks and observations for tests.

#ifndef MALLOCMUZERO_MODEL_TESTING_RANDOM_NETWORK_H_
#define MALLOCMUZERO_MODEL_TESTING_RANDOM_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mallocmuzero/v1/network.pb.h"
#include "model/network.h"

namespace mallocmuzero::testing {

// Makes a network in which, unlike in a fresh one, no weight is 0, heads and biases included. The
// config must be valid.
std::unique_ptr<Network> MakeRandomNetwork(const v1::NetworkConfig& config, uint64_t seed);

// Returns observations [batch, kObservationSize] with numbers in [-1, 1]. The flags that tell
// whether an access exists are 0 or 1.
std::vector<float> MakeRandomObservations(size_t batch, uint64_t seed);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_MODEL_TESTING_RANDOM_NETWORK_H_
