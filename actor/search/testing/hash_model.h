// A model for tests whose outputs are hashes, so that every implementation computes the same
// numbers.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_TESTING_HASH_MODEL_H_
#define MALLOCMUZERO_ACTOR_SEARCH_TESTING_HASH_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/size32.h"
#include "model/latent_model.h"

namespace mallocmuzero::testing {

// Outputs are scale * k / 2^(bits - 1), with an integer k in [-2^(bits - 1), 2^(bits - 1)).
struct HashModelOptions {
  uint32_t bits = 12;
  float value_scale = 1;
  float reward_scale = 0.5F;
  float reward_offset = 0;
  float logit_scale = 2;
};

// The same model as in testdata/make_golden.py. A latent state is a 32-bit hash; an observation is
// the number of a root, below 2^24.
class HashModel final : public LatentModel {
 public:
  HashModel(const HashModelOptions& options, uint32_t slots, uint32_t actions)
      : options_(options), actions_(actions), states_(slots) {}

  uint32_t slots() const override { return Size32(states_); }
  uint32_t actions() const override { return actions_; }
  uint32_t observation_size() const override { return 1; }

  void EvaluateRoots(absl::Span<const float> observations, absl::Span<const uint32_t> roots,
                     const Evaluations& out) override {
    for (size_t i = 0; i < roots.size(); ++i) {
      states_[roots[i]] = Mix(static_cast<uint32_t>(observations[i]));
      Evaluate(states_[roots[i]], i, out);
      out.rewards[i] = 0;
    }
  }

  void EvaluateSteps(absl::Span<const LatentStep> steps, const Evaluations& out) override {
    for (size_t i = 0; i < steps.size(); ++i) {
      states_[steps[i].child] = Mix(states_[steps[i].parent] * 31 + steps[i].action + 1);
      Evaluate(states_[steps[i].child], i, out);
    }
  }

 private:
  // The finaliser of MurmurHash3.
  static uint32_t Mix(uint32_t bits) {
    bits = (bits ^ (bits >> 16)) * 0x85ebca6b;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35;
    return bits ^ (bits >> 16);
  }

  float Draw(uint32_t state, uint32_t place) const {
    const uint32_t hashed = Mix(state + place * 0x9e3779b9);
    const int32_t half = int32_t{1} << (options_.bits - 1);
    const int32_t number = static_cast<int32_t>(hashed >> (32 - options_.bits)) - half;
    return static_cast<float>(number) / static_cast<float>(half);
  }

  void Evaluate(uint32_t state, size_t row, const Evaluations& out) const {
    out.values[row] = options_.value_scale * Draw(state, 1);
    out.rewards[row] = options_.reward_scale * Draw(state, 2) + options_.reward_offset;
    for (uint32_t a = 0; a < actions_; ++a) {
      out.logits[row * actions_ + a] = options_.logit_scale * Draw(state, 3 + a);
    }
  }

  HashModelOptions options_;
  uint32_t actions_;
  std::vector<uint32_t> states_;
};

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ACTOR_SEARCH_TESTING_HASH_MODEL_H_
