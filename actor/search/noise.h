// The noise of a root: what makes two searches of the same state differ.

#ifndef MALLOCMUZERO_ACTOR_SEARCH_NOISE_H_
#define MALLOCMUZERO_ACTOR_SEARCH_NOISE_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"

namespace mallocmuzero {

// The same numbers for the same seed; seeds that differ by little give unrelated numbers. Also a
// generator for <random>.
class NoiseStream {
 public:
  using result_type = uint64_t;  // NOLINT(readability-identifier-naming): <random> asks for it

  explicit NoiseStream(uint64_t seed);

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()();

  // Standard Gumbel noise, finite.
  float Gumbel();

  // Replaces logits by those of (1 - fraction) * softmax(logits) + fraction * Dirichlet(alpha).
  void MixDirichlet(float alpha, float fraction, absl::Span<float> logits);

 private:
  uint64_t state_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_SEARCH_NOISE_H_
