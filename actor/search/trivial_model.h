// A model that costs next to nothing, to measure the search alone.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_TRIVIAL_MODEL_H_
#define MALLOCMUZERO_ACTOR_SEARCH_TRIVIAL_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/size32.h"
#include "model/latent_model.h"

namespace mallocmuzero {

// A latent state is a number in [0, 1), which every step changes. An observation is the number of
// the root.
class TrivialModel final : public LatentModel {
 public:
  TrivialModel(uint32_t slots, uint32_t actions) : actions_(actions), states_(slots) {}

  uint32_t slots() const override { return Size32(states_); }
  uint32_t actions() const override { return actions_; }
  uint32_t observation_size() const override { return 1; }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    for (size_t i = 0; i < roots.size(); ++i) {
      states_[roots[i]] = observations[i];
      Evaluate(observations[i], i, out);
    }
  }

  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto action = static_cast<float>(steps[i].action);
      float x = states_[steps[i].parent] * 1.7F + action * 0.37F + 0.11F;
      x -= static_cast<float>(static_cast<int32_t>(x));
      states_[steps[i].child] = x;
      Evaluate(x, i, out);
    }
  }

 private:
  // Logits x, 1 - x, x^2, x^3 and so on.
  void Evaluate(float x, size_t row, const Evaluations& out) const {
    out.values[row] = x;
    out.rewards[row] = x * 0.1F;
    float* const logits = out.logits.data() + row * actions_;
    logits[0] = x;
    if (actions_ > 1) logits[1] = 1 - x;
    for (uint32_t a = 2; a < actions_; ++a) logits[a] = logits[a == 2 ? 0 : a - 1] * x;
  }

  uint32_t actions_;
  std::vector<float> states_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_TRIVIAL_MODEL_H_
