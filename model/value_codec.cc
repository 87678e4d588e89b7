#include "model/value_codec.h"

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

float ValueCodec::FromScale(float z) const {
  return std::copysign(resolution_ * std::expm1(std::abs(z)), z);
}

}  // namespace mallocmuzero
