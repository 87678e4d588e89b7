#include "model/testing/random_network.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "base/random.h"
#include "env/observation_layout.h"

namespace mallocmuzero::testing {

std::unique_ptr<Network> MakeRandomNetwork(const v1::NetworkConfig& config, uint64_t seed) {
  std::unique_ptr<Network> network = Network::Create(config, seed).value();
  Random random(seed);
  std::vector<NamedTensor> weights = network->ExportWeights();
  for (NamedTensor& tensor : weights) {
    const double inputs = tensor.shape.size() == 2 ? static_cast<double>(tensor.shape[1]) : 12;
    const double bound = std::sqrt(3 / inputs);
    for (size_t k = 0; k < tensor.bytes.size(); k += sizeof(float)) {
      const auto weight = static_cast<float>((2 * random.Unit() - 1) * bound);
      std::memcpy(&tensor.bytes[k], &weight, sizeof(weight));
    }
  }
  network->ImportWeights(weights).IgnoreError();  // cannot fail: names and shapes are its own
  return network;
}

std::vector<float> MakeRandomObservations(size_t batch, uint64_t seed) {
  Random random(seed);
  std::vector<float> observations(batch * kObservationSize);
  for (float& number : observations) number = static_cast<float>(2 * random.Unit() - 1);
  for (size_t row = 0; row < batch; ++row) {
    float* accesses = &observations[row * kObservationSize + observation::kAccessesOffset];
    for (size_t k = 0; k <= observation::kWindow; ++k) {
      accesses[k * observation::kAccessFeatures + observation::kIsThere] =
          k == 0 || random.Below(4) > 0 ? 1 : 0;
    }
  }
  return observations;
}

}  // namespace mallocmuzero::testing
