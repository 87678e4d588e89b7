#include "learner/trained_network.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace mallocmuzero {

absl::StatusOr<TrainedNetwork> TrainedNetwork::Create(const v1::NetworkConfig& config,
                                                      const v1::LearnerOptions& options,
                                                      uint64_t seed, Device device,
                                                      const Network* from) {
  absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(config, seed);
  if (!network.ok()) return network.status();
  absl::StatusOr<std::unique_ptr<Learner>> learner = Learner::Create(**network, options, device);
  if (!learner.ok()) return learner.status();
  if (from != nullptr) MMZ_RETURN_IF_ERROR((*network)->CopyWeightsFrom(*from));
  return TrainedNetwork(device, *std::move(network), *std::move(learner));
}

Checkpoint TrainedNetwork::Weights() const {
  Checkpoint checkpoint = MakeCheckpoint(*network_);
  checkpoint.step = step();
  return checkpoint;
}

Checkpoint TrainedNetwork::Capture(v1::TrainState state) const {
  Checkpoint checkpoint = Weights();
  checkpoint.optimizer = learner_->ExportOptimizer();
  state.set_update(step());
  checkpoint.training_state = state.SerializeAsString();
  return checkpoint;
}

absl::Status TrainedNetwork::Restore(const Checkpoint& checkpoint) {
  MMZ_RETURN_IF_ERROR(network_->ImportWeights(checkpoint.weights));
  return learner_->ImportOptimizer(checkpoint.optimizer, checkpoint.step);
}

}  // namespace mallocmuzero
