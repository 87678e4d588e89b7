#include "learner/trained_network.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "model/on_device.h"

namespace mallocmuzero {

absl::StatusOr<TrainedNetwork> TrainedNetwork::Create(const v1::NetworkConfig& config,
                                                      const v1::LearnerOptions& options,
                                                      uint64_t seed, Device device,
                                                      const Network* from) {
  absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(config, seed);
  if (!network.ok()) return network.status();
  absl::StatusOr<std::unique_ptr<Learner>> learner = Learner::Create(**network, options, device);
  if (!learner.ok()) return learner.status();
  absl::Status copied;
  if (from != nullptr) {
    MMZ_RETURN_IF_ERROR(OnDevice("a copy of the first weights",
                                 [&] { copied = (*network)->CopyWeightsFrom(*from); }));
  }
  if (!copied.ok()) return copied;
  return TrainedNetwork(device, *std::move(network), *std::move(learner));
}

absl::StatusOr<Checkpoint> TrainedNetwork::Weights() const {
  Checkpoint checkpoint;
  MMZ_RETURN_IF_ERROR(
      OnDevice("a copy of the weights", [&] { checkpoint = MakeCheckpoint(*network_); }));
  checkpoint.step = step();
  return checkpoint;
}

absl::StatusOr<Checkpoint> TrainedNetwork::Capture(v1::TrainState state) const {
  absl::StatusOr<Checkpoint> checkpoint = Weights();
  if (!checkpoint.ok()) return checkpoint.status();
  MMZ_RETURN_IF_ERROR(OnDevice("a copy of the optimiser",
                               [&] { checkpoint->optimizer = learner_->ExportOptimizer(); }));
  state.set_update(step());
  checkpoint->training_state = state.SerializeAsString();
  return checkpoint;
}

absl::Status TrainedNetwork::Restore(const Checkpoint& checkpoint) {
  // These two have no part in the shapes of the weights, but in what the weights mean.
  const v1::NetworkConfig& saved = checkpoint.network;
  const v1::NetworkConfig& own = network_->config();
  if (saved.limit() != own.limit() || saved.resolution() != own.resolution()) {
    return absl::InvalidArgumentError(
        absl::StrCat("network.limit, network.resolution: ", saved.limit(), ", ", saved.resolution(),
                     " expected, since the values of the checkpoint's networks have this scale"));
  }
  absl::Status imported;
  MMZ_RETURN_IF_ERROR(OnDevice("the weights of a checkpoint", [&] {
    imported = network_->ImportWeights(checkpoint.weights);
    if (!imported.ok()) return;
    imported = learner_->ImportOptimizer(checkpoint.optimizer, checkpoint.step);
  }));
  return imported;
}

}  // namespace mallocmuzero
