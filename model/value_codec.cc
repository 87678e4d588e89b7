#include "model/value_codec.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mallocmuzero {

ValueCodec::ValueCodec(size_t bins, float limit, float resolution)
    : centers_(bins), resolution_(resolution) {
  assert(bins >= 3 && bins % 2 == 1 && limit > 0 && resolution > 0);
  // Mirrored, so that a uniform distribution is 0.
  const size_t middle = bins / 2;
  for (size_t k = 1; k <= middle; ++k) {
    const float center = limit * static_cast<float>(k) / static_cast<float>(middle);
    centers_[middle + k] = center;
    centers_[middle - k] = -center;
  }
}

float ValueCodec::ToScale(float x) const {
  return std::copysign(std::log1p(std::abs(x) / resolution_), x);
}

float ValueCodec::FromScale(float z) const {
  return std::copysign(resolution_ * std::expm1(std::abs(z)), z);
}

ValueCodec::TwoHot ValueCodec::Encode(float x) const {
  const float last = static_cast<float>(bins() - 1);
  const float z = std::clamp(ToScale(x), -limit(), limit());
  const float position = (z + limit()) / (2 * limit()) * last;
  const float lower = std::clamp(std::floor(position), 0.0F, last - 1);
  return {.lower = static_cast<uint32_t>(lower), .upper_weight = position - lower};
}

float ValueCodec::Decode(absl::Span<const float> probabilities) const {
  assert(probabilities.size() == bins());
  double z = 0;
  for (size_t k = 0; k < bins(); ++k) z += double{probabilities[k]} * double{centers_[k]};
  return FromScale(static_cast<float>(z));
}

}  // namespace mallocmuzero
