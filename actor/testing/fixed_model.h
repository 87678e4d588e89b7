// A model for tests of self-play that needs no network.

#ifndef MALLOCMUZERO_ACTOR_TESTING_FIXED_MODEL_H_
#define MALLOCMUZERO_ACTOR_TESTING_FIXED_MODEL_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/size32.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "model/latent_model.h"

namespace mallocmuzero::testing {

// A model that prefers NoCopy to Copy and Copy to Drop and whose values are about 0. A state is a
// number computed from the observation and the actions.
class FixedModel : public LatentModel {
 public:
  explicit FixedModel(uint32_t slots) : states_(slots, 0) {}

  uint32_t slots() const override { return Size32(states_); }
  uint32_t actions() const override { return kActionCount; }
  uint32_t observation_size() const override { return kObservationSize; }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    for (size_t row = 0; row < roots.size(); ++row) {
      float sum = 0;
      for (const float x : observations.subspan(row * kObservationSize, kObservationSize)) sum += x;
      states_[roots[row]] = sum;
      Write(row, sum, out);
    }
  }

  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    for (size_t row = 0; row < steps.size(); ++row) {
      const float state = std::sin(states_[steps[row].parent] + 0.1F * steps[row].action);
      states_[steps[row].child] = state;
      Write(row, state, out);
    }
  }

 private:
  static void Write(size_t row, float state, const Evaluations& out) {
    out.values[row] = 0.01F * std::sin(state);
    out.rewards[row] = 0;
    out.logits[row * 3] = 1;
    out.logits[row * 3 + 1] = 2;
    out.logits[row * 3 + 2] = 0;
  }

  std::vector<float> states_;
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ACTOR_TESTING_FIXED_MODEL_H_
