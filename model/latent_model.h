// The interface of the networks for a search: values, rewards and policies of latent states, in
// batches.

#ifndef MALLOCMUZERO_MODEL_LATENT_MODEL_H_
#define MALLOCMUZERO_MODEL_LATENT_MODEL_H_

#include <cstdint>

#include "absl/types/span.h"

namespace mallocmuzero {

// One step of the dynamics network: from the latent state of slot `parent` and an action to the
// latent state of slot `child`.
struct LatentStep {
  uint32_t parent = 0;
  uint32_t child = 0;
  uint32_t action = 0;
};

// The memory for a batch of evaluations, one row for each latent state. The spans are as long as
// the batch; `logits` is actions() times as long.
struct Evaluations {
  absl::Span<float> values;   // of the latent states, numbers of NetworkValue
  absl::Span<float> rewards;  // of the steps to them, likewise; 0 for a root
  absl::Span<float> logits;   // [batch, actions], of the policy, not normalised
};

// Latent states are in numbered slots, so that a tree holds indices and a batch is one gather. Not
// thread-safe: each thread has its own model over shared weights. The evaluations throw what
// LibTorch throws, so that a search need not ask after each batch; OnDevice (model/on_device.h)
// makes an error of it.
class LatentModel {
 public:
  virtual ~LatentModel() = default;

  virtual uint32_t slots() const = 0;
  virtual uint32_t actions() const = 0;

  // The number of floats of one observation.
  virtual uint32_t observation_size() const = 0;

  // The representation and prediction networks: row i of `observations` [batch, observation_size]
  // becomes the latent state of roots[i].
  virtual void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                             const Evaluations& out) = 0;

  // The dynamics and prediction networks. In one batch, no slot may be the child of two steps, and
  // no child may be a parent.
  virtual void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_LATENT_MODEL_H_
