// The coding of values and rewards in the networks: distributions over bins of a logarithmic scale.

#ifndef MALLOCMUZERO_MODEL_VALUE_CODEC_H_
#define MALLOCMUZERO_MODEL_VALUE_CODEC_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "mallocmuzero/v1/network.pb.h"

namespace mallocmuzero {

// The categorical representation of MuZero (Schrittwieser et al., 2020, appendix F) with another
// scale: h(x) = sign(x) log(1 + |x| / resolution), close to linear below the resolution. A number
// is a distribution whose expectation on that scale is h(x). Numbers beyond the outer bins count as
// the outer bin. Immutable.
class ValueCodec {
 public:
  // bins: odd, 3 or more, at equal distances over [-limit, limit]. limit and resolution: positive.
  ValueCodec(size_t bins, float limit, float resolution);
  explicit ValueCodec(const v1::NetworkConfig& config)
      : ValueCodec(config.bins(), config.limit(), config.resolution()) {}

  size_t bins() const { return centers_.size(); }
  float limit() const { return centers_.back(); }
  float resolution() const { return resolution_; }

  // The positions of the bins on the scale, ascending; the middle one is 0.
  absl::Span<const float> centers() const { return centers_; }

  // The inverse of h. modules.h turns tensors of numbers into distributions (EncodeTwoHot).
  // modules.h and bin_means.h turn logits into numbers.
  float FromScale(float z) const;

 private:
  std::vector<float> centers_;
  float resolution_ = 1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_VALUE_CODEC_H_
