// A latent model that counts the rows it is asked for.

#ifndef MALLOCMUZERO_ACTOR_ROLE_METERED_MODEL_H_
#define MALLOCMUZERO_ACTOR_ROLE_METERED_MODEL_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "actor/search/batch_histogram.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// `batches` must outlive it, and belong to the same thread.
class MeteredModel final : public LatentModel {
 public:
  MeteredModel(std::unique_ptr<LatentModel> model, BatchHistogram* batches)
      : model_(std::move(model)), batches_(batches) {}

  uint32_t slots() const override { return model_->slots(); }
  uint32_t actions() const override { return model_->actions(); }
  uint32_t observation_size() const override { return model_->observation_size(); }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    batches_->Add(static_cast<uint32_t>(roots.size()));
    model_->EvaluateRoots(observations, roots, out);
  }

  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    batches_->Add(static_cast<uint32_t>(steps.size()));
    model_->EvaluateSteps(steps, out);
  }

 private:
  std::unique_ptr<LatentModel> model_;
  BatchHistogram* batches_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_METERED_MODEL_H_
