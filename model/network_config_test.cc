#include "model/network_config.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::NetworkConfig Tiny() { return NetworkPreset("tiny").value(); }

std::string ErrorOf(const v1::NetworkConfig& config) {
  return std::string(ValidateNetworkConfig(config).message());
}

TEST(NetworkConfig, PresetsAreValid) {
  EXPECT_THAT(NetworkPresetNames(), ElementsAre("tiny", "small", "base"));
  for (const std::string& name : NetworkPresetNames()) {
    EXPECT_TRUE(ValidateNetworkConfig(NetworkPreset(name).value()).ok()) << name;
  }
  EXPECT_TRUE(ValidateNetworkConfig(ReferenceNetworkConfig(256, 601, 3)).ok());
}

TEST(NetworkConfig, NamesThePresetsThereAre) {
  EXPECT_EQ(NetworkPreset("huge").status().message(),
            "no network is called \"huge\"; there are tiny, small and base");
}

TEST(NetworkConfig, NamesTheFieldThatIsWrong) {
  v1::NetworkConfig config = Tiny();
  config.set_latent(0);
  EXPECT_EQ(ErrorOf(config), "network config: latent is 0, must be 2 to 4096");
  config = Tiny();
  config.set_dynamics_blocks(1000000);
  EXPECT_EQ(ErrorOf(config), "network config: dynamics_blocks is 1000000, must be 1 to 32");
  config = Tiny();
  config.set_bins(40);
  EXPECT_EQ(ErrorOf(config), "network config: bins is 40, must be odd");
  config = Tiny();
  config.set_resolution(std::nanf(""));
  EXPECT_EQ(ErrorOf(config), "network config: resolution is nan, must be positive");
  config = Tiny();
  config.set_limit(1000);
  EXPECT_EQ(ErrorOf(config), "network config: limit is 1000, must be at most 60");
  config.set_limit(60);
  EXPECT_EQ(ErrorOf(config), "");
  config.set_resolution(1e20F);
  EXPECT_EQ(
      ErrorOf(config),
      "network config: limit is 60 with resolution 1e+20, so the largest number that the bins "
      "express is not finite");
}

TEST(NetworkConfig, OtherActionsThanTheGamesAreValidButNotPlayable) {
  EXPECT_TRUE(CheckPlayable(Tiny()).ok());
  for (const uint32_t actions : {1, 4}) {
    const v1::NetworkConfig config = ReferenceNetworkConfig(256, 601, actions);
    EXPECT_TRUE(ValidateNetworkConfig(config).ok());
    EXPECT_EQ(CheckPlayable(config).message(),
              absl::StrCat("network config: actions is ", actions,
                           ", must be 3, as many as the game has"));
  }
}

TEST(NetworkConfig, IsForOneVersionOfTheObservations) {
  v1::NetworkConfig config = Tiny();
  config.set_observation_version(kObservationVersion + 1);
  EXPECT_THAT(ErrorOf(config), HasSubstr("network is for observations of version "));
  config = Tiny();
  config.set_observation_size(17);
  EXPECT_THAT(ErrorOf(config), HasSubstr("network is for observations of 17 floats"));
}

TEST(NetworkConfig, SpecMustBeThisBuilds) {
  v1::ObservationSpec spec = MakeObservationSpec();
  EXPECT_TRUE(CheckObservationSpec(spec).ok());
  spec.mutable_blocks(0)->set_name("other");
  EXPECT_THAT(std::string(CheckObservationSpec(spec).message()), HasSubstr("other blocks"));
}

TEST(NetworkConfig, CountsTheFlopsOfTheReference) {
  // 259 x 256 + 256 x 256 of the dynamics, 2 x 256 x 256 of hidden layers, 256 x 3 of the policy
  // and 2 x 256 x 601 of reward and value are 571,392 multiplications.
  EXPECT_EQ(CostOf(ReferenceNetworkConfig(256, 601, 3)).step_flops, 2 * 571392);
}

TEST(NetworkConfig, CountsTheWeightsThatNetworksHave) {
  v1::NetworkConfig odd = ReferenceNetworkConfig(6, 5, 7);
  odd.set_memory_channels(3);
  odd.set_memory_blocks(2);
  odd.set_access_channels(5);
  odd.set_heads(3);
  odd.set_representation_blocks(0);
  odd.set_dynamics_blocks(3);
  odd.set_head_hidden(11);
  for (const v1::NetworkConfig& config :
       {Tiny(), NetworkPreset("small").value(), NetworkPreset("base").value(), odd}) {
    EXPECT_EQ(ParameterCountOf(config), Network::Create(config, 1).value()->ParameterCount());
  }
}

TEST(NetworkConfig, CountsTheFlopsOfARoot) {
  // Memory 24 x (64 x 24 + 3 x 24 x 24) = 78,336; accesses 33 x 42 x 32 + 32 x 128 + 2 x 33 x 128 =
  // 56,896; trunk (24 x 24 + 128 + 176) x 64 = 56,320; block 2 x 64 x 64 = 8,192; prediction
  // 64 x (64 + 41 + 3) = 6,912. Plain: 4 + 40 + 9 + 42 + 24 + 40 + 17 = 176.
  EXPECT_EQ(CostOf(Tiny()).root_flops, 2 * (78336 + 56896 + 56320 + 8192 + 6912));
}

}  // namespace
}  // namespace mallocmuzero
