// One network for many searches at the same time.

#ifndef MALLOCMUZERO_SERVE_SHARED_NETWORK_H_
#define MALLOCMUZERO_SERVE_SHARED_NETWORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/latent_model.h"
#include "serve/batch_lane.h"

namespace mallocmuzero {

struct SharingOptions {
  uint32_t evaluators = 1;  // batches that may be evaluated at the same time
  uint32_t models = 1;      // the most models that may live at the same time
  uint32_t slots = 1;       // of each model
  absl::Duration batch_wait = absl::ZeroDuration();
  std::function<void(const LaneBatch&)> batched;  // called after each batch, from any thread
};

// Makes models that evaluate their rows in common batches. It lives as long as one of its models.
// Thread-safe.
class SharedNetwork : public std::enable_shared_from_this<SharedNetwork> {
 public:
  // `make_model` makes a model of the same weights with that number of slots. Errors are its own.
  static absl::StatusOr<std::shared_ptr<SharedNetwork>> Create(
      const std::function<absl::StatusOr<std::unique_ptr<LatentModel>>(uint32_t slots)>& make_model,
      const SharingOptions& options);

  // A model of the evaluator that has fewest. InvalidArgument if `slots` are more than
  // SharingOptions::slots, ResourceExhausted if as many models live as there may be.
  absl::StatusOr<std::unique_ptr<LatentModel>> MakeModel(uint32_t slots)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Member;

  explicit SharedNetwork(std::vector<std::unique_ptr<BatchLane>> lanes)
      : lanes_(std::move(lanes)) {}

  const std::vector<std::unique_ptr<BatchLane>> lanes_;
  absl::Mutex mutex_;  // held while a search chooses its lane and enters it
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_SHARED_NETWORK_H_
