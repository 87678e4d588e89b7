#include "actor/search/noise.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <random>

#include "actor/search/search.h"
#include "base/random.h"

namespace mallocmuzero {

// Mixed, so that seeds one increment apart do not give the same numbers one place apart.
NoiseStream::NoiseStream(uint64_t seed) : state_(SplitMix(seed)) {}

uint64_t NoiseStream::operator()() { return SplitMix(state_ += kSplitMixIncrement); }

float NoiseStream::Gumbel() {
  const double unit = (static_cast<double>((*this)() >> 12) + 0.5) * 0x1p-52;  // in (0, 1)
  return static_cast<float>(-std::log(-std::log(unit)));
}

void NoiseStream::MixDirichlet(float alpha, float fraction, absl::Span<float> logits) {
  assert(logits.size() <= kMaxSearchActions);
  std::array<double, kMaxSearchActions> noise{};
  std::array<double, kMaxSearchActions> probs{};
  std::gamma_distribution<double> gamma(alpha, 1);
  const double max_logit = *std::max_element(logits.begin(), logits.end());
  double noise_sum = std::numeric_limits<double>::min();
  double prob_sum = 0;
  for (size_t a = 0; a < logits.size(); ++a) {
    noise_sum += noise[a] = gamma(*this);
    prob_sum += probs[a] = std::exp(logits[a] - max_logit);
  }
  for (size_t a = 0; a < logits.size(); ++a) {
    const double mixed = (1 - fraction) * probs[a] / prob_sum + fraction * noise[a] / noise_sum;
    logits[a] =
        static_cast<float>(std::log(std::max<double>(mixed, std::numeric_limits<float>::min())));
  }
}

}  // namespace mallocmuzero
