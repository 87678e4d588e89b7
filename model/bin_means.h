// Decodes the logits of a categorical head to the number that they express.

#ifndef MALLOCMUZERO_MODEL_BIN_MEANS_H_
#define MALLOCMUZERO_MODEL_BIN_MEANS_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace mallocmuzero {

// For each row, the mean of `centers` under softmax(logits). It makes one pass over the row, where
// LibTorch makes five: a search spends a fifth of its time here. `logits` is [means.size(), stride]
// and finite; the first centers.size() columns count. The error is below 1e-6 of the range of
// `centers`.
void BinMeans(const float* logits, size_t stride, absl::Span<const float> centers,
              absl::Span<float> means);

// The same for bfloat16 numbers, given as their bits.
void BinMeans(const uint16_t* logits, size_t stride, absl::Span<const float> centers,
              absl::Span<float> means);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_BIN_MEANS_H_
