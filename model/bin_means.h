// From the logits of a categorical head to the number it stands for.

#ifndef MALLOCMUZERO_MODEL_BIN_MEANS_H_
#define MALLOCMUZERO_MODEL_BIN_MEANS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace mallocmuzero {

// The mean of `centers` under softmax(logits) of each row, in one pass over the row where LibTorch
// takes five: a search spends a fifth of its time here. `logits` is [means.size(), stride] of which
// the first centers.size() of each row count; finite. Within 1e-6 of the range of `centers`.
void BinMeans(const float* logits, size_t stride, absl::Span<const float> centers,
              absl::Span<float> means);

// The same of bfloat16 numbers, given as their bits.
void BinMeans(const uint16_t* logits, size_t stride, absl::Span<const float> centers,
              absl::Span<float> means);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_BIN_MEANS_H_
