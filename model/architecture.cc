#include "model/architecture.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "env/observation_layout.h"

namespace mallocmuzero {
namespace {

namespace layout = observation;

}  // namespace

std::string BlockName(size_t n) { return absl::StrCat("block_", n); }

std::string MemoryBlockName(size_t n) { return absl::StrCat("memory_block_", n); }

uint32_t PlainFeatures() {
  return static_cast<uint32_t>(layout::kAccessesOffset + layout::kAccessFeatures -
                               layout::kCapacityOffset + layout::kSize - layout::kActionsOffset);
}

Architecture::Architecture(const v1::NetworkConfig& config) {
  const uint64_t latent = config.latent();
  const uint64_t hidden = config.head_hidden();
  AddRepresentation(config);
  for (size_t n = 0; n < config.dynamics_blocks(); ++n) {
    // The first block reads the action, one-hot, besides the latent state.
    AddResidualBlock(absl::StrCat(kDynamics, BlockName(n)),
                     latent + (n == 0 ? config.actions() : 0), latent);
  }
  layers_.push_back({absl::StrCat(kDynamics, "reward_hidden"), latent, hidden});
  layers_.push_back({absl::StrCat(kDynamics, "reward"), hidden, config.bins()});
  layers_.push_back({absl::StrCat(kPrediction, "hidden"), latent, hidden});
  layers_.push_back({absl::StrCat(kPrediction, "policy"), hidden, config.actions()});
  layers_.push_back({absl::StrCat(kPrediction, "value"), hidden, config.bins()});
}

void Architecture::AddRepresentation(const v1::NetworkConfig& config) {
  const uint64_t channels = config.memory_channels();
  const uint64_t embedded = config.access_channels();
  const uint64_t attended = config.heads() * embedded;
  const uint64_t rows = 1 + layout::kWindow;  // the current access, and those to come
  const auto add = [&](absl::string_view name, uint64_t inputs, uint64_t outputs, uint64_t times) {
    layers_.push_back({.name = absl::StrCat(kRepresentation, name),
                       .inputs = inputs,
                       .outputs = outputs,
                       .rows = times});
  };
  // The address bins of one time, and its capacity.
  add("memory_stem", layout::kMemoryChannels * layout::kAddressBins + 1, channels, layout::kTimes);
  for (size_t n = 0; n < config.memory_blocks(); ++n) {
    // The channels one step before, now, and one step after.
    add(absl::StrCat(MemoryBlockName(n), ".taps"), 3 * channels, channels, layout::kTimes);
  }
  add("accesses.embed", layout::kAccessFeatures, embedded, rows);
  add("accesses.query", embedded, attended, 1);
  attention_multiplications_ = 2 * rows * attended;
  add("trunk", layout::kTimes * channels + attended + PlainFeatures(), config.latent(), 1);
  for (size_t n = 0; n < config.representation_blocks(); ++n) {
    AddResidualBlock(absl::StrCat(kRepresentation, BlockName(n)), config.latent(), config.latent());
  }
}

void Architecture::AddResidualBlock(const std::string& name, uint64_t inputs, uint64_t width) {
  layers_.push_back({absl::StrCat(name, ".in"), inputs, width});
  layers_.push_back({absl::StrCat(name, ".out"), width, width, /*has_bias=*/false});
}

const LinearLayer& Architecture::Layer(absl::string_view name) const {
  const auto found = std::find_if(layers_.begin(), layers_.end(),
                                  [&](const LinearLayer& layer) { return layer.name == name; });
  assert(found != layers_.end());
  return *found;
}

uint64_t Architecture::Multiplications(absl::string_view network) const {
  uint64_t sum = network == kRepresentation ? attention_multiplications_ : 0;
  for (const LinearLayer& layer : layers_) {
    if (absl::StartsWith(layer.name, network)) sum += layer.Multiplications();
  }
  return sum;
}

}  // namespace mallocmuzero
