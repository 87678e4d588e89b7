#include "model/network_config.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "env/observation_layout.h"
#include "model/architecture.h"

namespace mallocmuzero {
namespace {

// Sizes that differ between the presets.
struct Sizes {
  uint32_t latent = 0;
  uint32_t memory_channels = 0;
  uint32_t memory_blocks = 0;
  uint32_t access_channels = 0;
  uint32_t heads = 0;
  uint32_t representation_blocks = 0;
  uint32_t dynamics_blocks = 0;
  uint32_t bins = 0;
};

constexpr Sizes kTiny = {.latent = 64,
                         .memory_channels = 24,
                         .memory_blocks = 1,
                         .access_channels = 32,
                         .heads = 4,
                         .representation_blocks = 1,
                         .dynamics_blocks = 1,
                         .bins = 41};

constexpr Sizes kSmall = {.latent = 128,
                          .memory_channels = 32,
                          .memory_blocks = 2,
                          .access_channels = 64,
                          .heads = 4,
                          .representation_blocks = 2,
                          .dynamics_blocks = 2,
                          .bins = 61};

constexpr Sizes kBase = {.latent = 256,
                         .memory_channels = 64,
                         .memory_blocks = 3,
                         .access_channels = 128,
                         .heads = 8,
                         .representation_blocks = 3,
                         .dynamics_blocks = 3,
                         .bins = 101};

v1::NetworkConfig MakeConfig(const Sizes& sizes) {
  v1::NetworkConfig config;
  config.set_latent(sizes.latent);
  config.set_memory_channels(sizes.memory_channels);
  config.set_memory_blocks(sizes.memory_blocks);
  config.set_access_channels(sizes.access_channels);
  config.set_heads(sizes.heads);
  config.set_representation_blocks(sizes.representation_blocks);
  config.set_dynamics_blocks(sizes.dynamics_blocks);
  config.set_head_hidden(sizes.latent);
  config.set_bins(sizes.bins);
  // Up to 4.4 on either side: 0.004 x (exp(7) - 1).
  config.set_limit(7);
  config.set_resolution(0.004F);
  config.set_observation_version(kObservationVersion);
  config.set_observation_size(kObservationSize);
  config.set_actions(kActionCount);
  return config;
}

absl::Status CheckRange(const char* field, uint32_t value, uint32_t least, uint32_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("network config: ", field, " is ", value, ", must be ", least, " to ", most));
}

absl::Status CheckPositive(const char* field, float value) {
  if (value > 0 && std::isfinite(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("network config: ", field, " is ", value, ", must be positive"));
}

absl::Status CheckScale(const v1::NetworkConfig& config) {
  constexpr uint32_t kMaxBins = 4097;
  MMZ_RETURN_IF_ERROR(CheckRange("bins", config.bins(), 3, kMaxBins));
  if (config.bins() % 2 == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("network config: bins is ", config.bins(), ", must be odd"));
  }
  MMZ_RETURN_IF_ERROR(CheckPositive("limit", config.limit()));
  MMZ_RETURN_IF_ERROR(CheckPositive("resolution", config.resolution()));
  // exp(limit) must be a number.
  constexpr float kMaxLimit = 60;
  if (config.limit() > kMaxLimit) {
    return absl::InvalidArgumentError(
        absl::StrCat("network config: limit is ", config.limit(), ", must be at most ", kMaxLimit));
  }
  if (std::isfinite(config.resolution() * std::expm1(config.limit()))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "network config: limit is ", config.limit(), " with resolution ", config.resolution(),
      ", so the largest number that the bins express is not finite"));
}

absl::Status CheckObservation(uint32_t version, uint32_t size) {
  if (version != kObservationVersion) {
    return absl::InvalidArgumentError(absl::StrCat("network is for observations of version ",
                                                   version, ", this build makes version ",
                                                   kObservationVersion));
  }
  if (size != kObservationSize) {
    return absl::InvalidArgumentError(absl::StrCat("network is for observations of ", size,
                                                   " floats, this build makes ", kObservationSize));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::NetworkConfig> NetworkPreset(absl::string_view name) {
  if (name == "tiny") return MakeConfig(kTiny);
  if (name == "small") return MakeConfig(kSmall);
  if (name == "base") return MakeConfig(kBase);
  return absl::InvalidArgumentError(
      absl::StrCat("no network is called \"", name, "\"; there are tiny, small and base"));
}

std::vector<std::string> NetworkPresetNames() { return {"tiny", "small", "base"}; }

v1::NetworkConfig ReferenceNetworkConfig(uint32_t hidden, uint32_t support, uint32_t actions) {
  v1::NetworkConfig config = MakeConfig(kTiny);
  config.set_latent(hidden);
  config.set_head_hidden(hidden);
  config.set_bins(support);
  config.set_actions(actions);
  return config;
}

absl::Status ValidateNetworkConfig(const v1::NetworkConfig& config) {
  constexpr uint32_t kMaxWidth = 4096;
  constexpr uint32_t kMaxBlocks = 32;
  constexpr uint32_t kMaxHeads = 64;
  constexpr uint32_t kMaxActions = 1024;
  MMZ_RETURN_IF_ERROR(CheckObservation(config.observation_version(), config.observation_size()));
  MMZ_RETURN_IF_ERROR(CheckRange("latent", config.latent(), 2, kMaxWidth));
  MMZ_RETURN_IF_ERROR(CheckRange("memory_channels", config.memory_channels(), 1, kMaxWidth));
  MMZ_RETURN_IF_ERROR(CheckRange("memory_blocks", config.memory_blocks(), 0, kMaxBlocks));
  MMZ_RETURN_IF_ERROR(CheckRange("access_channels", config.access_channels(), 1, kMaxWidth));
  MMZ_RETURN_IF_ERROR(CheckRange("heads", config.heads(), 1, kMaxHeads));
  MMZ_RETURN_IF_ERROR(
      CheckRange("representation_blocks", config.representation_blocks(), 0, kMaxBlocks));
  MMZ_RETURN_IF_ERROR(CheckRange("dynamics_blocks", config.dynamics_blocks(), 1, kMaxBlocks));
  MMZ_RETURN_IF_ERROR(CheckRange("head_hidden", config.head_hidden(), 1, kMaxWidth));
  MMZ_RETURN_IF_ERROR(CheckRange("actions", config.actions(), 1, kMaxActions));
  return CheckScale(config);
}

absl::Status CheckPlayable(const v1::NetworkConfig& config) {
  if (config.actions() == kActionCount) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("network config: actions is ", config.actions(),
                                                 ", must be ", kActionCount,
                                                 ", as many as the game has"));
}

absl::Status CheckObservationSpec(const v1::ObservationSpec& spec) {
  MMZ_RETURN_IF_ERROR(CheckObservation(spec.version(), spec.size()));
  if (SerializeDeterministically(spec) == SerializeDeterministically(MakeObservationSpec())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("network is for observations of version ", spec.version(),
                   " with other blocks than this build makes; it was written by a modified build"));
}

NetworkCost CostOf(const v1::NetworkConfig& config) {
  const Architecture architecture(config);
  const uint64_t prediction = architecture.prediction().Multiplications();
  return {.root_flops = 2 * (architecture.representation().Multiplications() + prediction),
          .step_flops = 2 * (architecture.dynamics().Multiplications() + prediction)};
}

uint64_t ParameterCountOf(const v1::NetworkConfig& config) {
  uint64_t count = 0;
  const Architecture architecture(config);
  for (const LinearLayer& layer : architecture.layers()) count += layer.Parameters();
  return count;
}

}  // namespace mallocmuzero
