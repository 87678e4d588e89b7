#include "model/testing/scalar_codec.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mallocmuzero::testing {

float MaxValue(const ValueCodec& codec) { return codec.FromScale(codec.limit()); }

float ToScale(const ValueCodec& codec, float x) {
  return std::copysign(std::log1p(std::abs(x) / codec.resolution()), x);
}

TwoHot Encode(const ValueCodec& codec, float x) {
  const float limit = codec.limit();
  const float last = static_cast<float>(codec.bins() - 1);
  const float z = std::clamp(ToScale(codec, x), -limit, limit);
  const float position = (z + limit) / (2 * limit) * last;
  const float lower = std::clamp(std::floor(position), 0.0F, last - 1);
  return {.lower = static_cast<uint32_t>(lower), .upper_weight = position - lower};
}

float Decode(const ValueCodec& codec, absl::Span<const float> probabilities) {
  assert(probabilities.size() == codec.bins());
  double z = 0;
  for (size_t k = 0; k < codec.bins(); ++k) {
    z += double{probabilities[k]} * double{codec.centers()[k]};
  }
  return codec.FromScale(static_cast<float>(z));
}

}  // namespace mallocmuzero::testing
