#include "model/architecture.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using Parameter = std::pair<std::string, std::vector<int64_t>>;

// The names and shapes of the description.
std::vector<Parameter> Described(const v1::NetworkConfig& config) {
  std::vector<Parameter> parameters;
  const Architecture architecture(config);
  for (const LinearLayer& layer : architecture.layers()) {
    const int64_t inputs = layer.inputs;
    const int64_t outputs = layer.outputs;
    parameters.emplace_back(absl::StrCat(layer.name, ".weight"), std::vector{outputs, inputs});
    if (layer.has_bias) {
      parameters.emplace_back(absl::StrCat(layer.name, ".bias"), std::vector{outputs});
    }
  }
  return parameters;
}

// The names and shapes of a network's weights.
std::vector<Parameter> Built(const v1::NetworkConfig& config) {
  std::vector<Parameter> parameters;
  for (const NamedTensor& tensor : Network::Create(config, 1).value()->ExportWeights()) {
    parameters.emplace_back(tensor.name, tensor.shape);
  }
  return parameters;
}

TEST(Architecture, DescribesTheParametersOfEveryPresetInTheirOrder) {
  for (const char* name : {"tiny", "small", "base"}) {
    const v1::NetworkConfig config = NetworkPreset(name).value();
    EXPECT_EQ(Described(config), Built(config)) << name;
  }
}

TEST(Architecture, DescribesNetworksWhoseSizesAllDiffer) {
  v1::NetworkConfig odd = ReferenceNetworkConfig(6, 5, 7);
  odd.set_memory_channels(3);
  odd.set_memory_blocks(0);
  odd.set_access_channels(5);
  odd.set_heads(3);
  odd.set_representation_blocks(0);
  odd.set_dynamics_blocks(3);
  odd.set_head_hidden(11);
  EXPECT_EQ(Described(odd), Built(odd));
}

TEST(Architecture, TheFirstBlockOfTheDynamicsReadsTheActionToo) {
  v1::NetworkConfig config = ReferenceNetworkConfig(8, 5, 3);
  config.set_dynamics_blocks(2);
  const Architecture architecture(config);
  EXPECT_EQ(architecture.Layer("dynamics.block_0.in").inputs, 11);
  EXPECT_EQ(architecture.Layer("dynamics.block_1.in").inputs, 8);
  EXPECT_FALSE(architecture.Layer("dynamics.block_0.out").has_bias);
}

}  // namespace
}  // namespace mallocmuzero
