// Codes numbers as distributions one at a time, in plain arithmetic, to check the code for tensors.

#ifndef MALLOCMUZERO_MODEL_TESTING_SCALAR_CODEC_H_
#define MALLOCMUZERO_MODEL_TESTING_SCALAR_CODEC_H_

#include <cstdint>

#include "absl/types/span.h"
#include "model/value_codec.h"

namespace mallocmuzero::testing {

// The largest number that is not clamped.
float MaxValue(const ValueCodec& codec);

// h(x), not clamped: the inverse of codec.FromScale.
float ToScale(const ValueCodec& codec, float x);

// A distribution over two neighbouring bins: `upper_weight` on lower + 1, the rest on lower.
struct TwoHot {
  uint32_t lower = 0;
  float upper_weight = 0;
};
TwoHot Encode(const ValueCodec& codec, float x);

// The number that a distribution [bins] expresses.
float Decode(const ValueCodec& codec, absl::Span<const float> probabilities);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_MODEL_TESTING_SCALAR_CODEC_H_
