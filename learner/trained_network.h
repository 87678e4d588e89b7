// The networks of a run with the learner that trains them, and their way into checkpoints.

#ifndef MALLOCMUZERO_LEARNER_TRAINED_NETWORK_H_
#define MALLOCMUZERO_LEARNER_TRAINED_NETWORK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/learner.h"
#include "mallocmuzero/v1/network.pb.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"

namespace mallocmuzero {

// How a run of `train` and a cluster's learner make, save and restore what they train.
// Thread-compatible.
class TrainedNetwork {
 public:
  // Makes networks with fresh weights, or with the weights of `from` if it is not null, and a
  // learner on `device`. Equal seeds give equal weights. InvalidArgument names the field that is
  // not valid, or says that `from` has another config or that there is no such device. Also the
  // errors of OnDevice.
  static absl::StatusOr<TrainedNetwork> Create(const v1::NetworkConfig& config,
                                               const v1::LearnerOptions& options, uint64_t seed,
                                               Device device, const Network* from = nullptr);

  const Network& network() const { return *network_; }
  Learner& learner() { return *learner_; }
  Device device() const { return device_; }

  // The number of updates so far.
  uint64_t step() const { return learner_->step(); }

  // A checkpoint of the weights, for those who play with them. This function and the next return
  // the errors of OnDevice.
  absl::StatusOr<Checkpoint> Weights() const;

  // A checkpoint from which the run can go on: the weights, the optimiser, and `state` with its
  // `update` filled in.
  absl::StatusOr<Checkpoint> Capture(v1::TrainState state) const;

  // Takes the weights and the optimiser from such a checkpoint. InvalidArgument if they are of
  // other networks, or of networks whose values have another scale; or the errors of OnDevice. The
  // object must not be used after an error.
  absl::Status Restore(const Checkpoint& checkpoint);

 private:
  TrainedNetwork(Device device, std::unique_ptr<Network> network, std::unique_ptr<Learner> learner)
      : device_(device), network_(std::move(network)), learner_(std::move(learner)) {}

  Device device_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Learner> learner_;  // of network_
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_TRAINED_NETWORK_H_
