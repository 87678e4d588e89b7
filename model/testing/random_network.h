// Networks and observations whose numbers are all different, for tests.

#ifndef MALLOCMUZERO_MODEL_TESTING_RANDOM_NETWORK_H_
#define MALLOCMUZERO_MODEL_TESTING_RANDOM_NETWORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mallocmuzero/v1/network.pb.h"
#include "model/network.h"

namespace mallocmuzero::testing {

// A network that looks trained: unlike in a fresh one, no weight is 0, not even of heads and
// biases. The config must be valid.
std::unique_ptr<Network> MakeRandomNetwork(const v1::NetworkConfig& config, uint64_t seed);

// [batch, kObservationSize], in [-1, 1]; the flags of accesses are 0 or 1.
std::vector<float> MakeRandomObservations(size_t batch, uint64_t seed);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_MODEL_TESTING_RANDOM_NETWORK_H_
