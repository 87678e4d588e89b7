// The functions of model/checkpoint.h that need a network.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "build_info.h"
#include "model/checkpoint.h"
#include "model/network_config.h"
#include "model/on_device.h"

namespace mallocmuzero {
namespace {

// Loading makes a network before its weights are compared. A small file must not cause a network
// that fills the memory.
absl::Status CheckParameterCount(const Checkpoint& checkpoint) {
  // Networks up to this size, 64 MiB, are always made, so that an error can name the tensor.
  constexpr uint64_t kAlwaysMade = uint64_t{1} << 24;
  const uint64_t wanted = ParameterCountOf(checkpoint.network);
  uint64_t given = 0;
  for (const NamedTensor& tensor : checkpoint.weights) given += tensor.bytes.size() / sizeof(float);
  if (wanted <= std::max(given, kAlwaysMade)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "network config: has ", wanted, " weights, must have the ", given, " of the tensors"));
}

}  // namespace

Checkpoint MakeCheckpoint(const Network& network) {
  Checkpoint checkpoint;
  checkpoint.network = network.config();
  checkpoint.weights = network.ExportWeights();
  checkpoint.git_commit = kGitCommit;
  return checkpoint;
}

absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(const Checkpoint& checkpoint) {
  MMZ_RETURN_IF_ERROR(CheckParameterCount(checkpoint));
  absl::StatusOr<std::unique_ptr<Network>> network = nullptr;
  MMZ_RETURN_IF_ERROR(OnDevice("the networks of a checkpoint", [&] {
    network = Network::Create(checkpoint.network, 0);
    if (!network.ok()) return;
    const absl::Status imported = (*network)->ImportWeights(checkpoint.weights);
    if (!imported.ok()) network = imported;
  }));
  return network;
}

absl::StatusOr<std::unique_ptr<Network>> LoadNetwork(const std::string& path) {
  const absl::StatusOr<Checkpoint> checkpoint = LoadCheckpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(*checkpoint);
  if (network.ok()) return network;
  return StatusAt(path, network.status());
}

}  // namespace mallocmuzero
