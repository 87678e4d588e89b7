// The weights of the rows of a batch in the loss.

#ifndef MALLOCMUZERO_LEARNER_ROW_WEIGHTS_H_
#define MALLOCMUZERO_LEARNER_ROW_WEIGHTS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// Weights of the rows of one batch. A row that was drawn by priority, with probability P from
// `positions` positions, weighs (1 / (positions x P)) ^ exponent (Schaul et al., 2016,
// section 3.4). The `imitated` rows follow. Each of them weighs the mean of those weights, so that
// the imitated rows have the same share of the weight as of the rows; they weigh 1 if all rows are
// imitated. All weights are above 0 and finite, even if a shard reports a probability of 0.
std::vector<float> RowWeights(absl::Span<const double> probabilities, size_t imitated,
                              double positions, double exponent);

// Divides all weights by `largest`, which is above 0.
void DivideWeights(double largest, absl::Span<float> weights);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROW_WEIGHTS_H_
