// The ages of the games that a learner draws positions from.

#ifndef MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_
#define MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "replay/client/replay_sampler.h"

namespace mallocmuzero {

// Counts drawn positions by the age of their game: the number of updates of the weights since the
// game was played or searched again. Games that are not of self-play have no age.
class DrawnAges {
 public:
  // The largest age of each bucket. The last bucket has no bound.
  static constexpr std::array<uint64_t, 10> kBounds = {0,    10,   30,    100,   300,
                                                       1000, 3000, 10000, 30000, 100000};

  // `step` is the number of updates at present. A game may have newer weights, if the learner has
  // gone back to a checkpoint; such a game has age 0.
  void Add(absl::Span<const SampledPosition> drawn, uint64_t step);

  uint64_t positions() const { return positions_; }
  double sum() const { return sum_; }
  const std::array<uint64_t, kBounds.size() + 1>& buckets() const { return buckets_; }

 private:
  uint64_t positions_ = 0;
  double sum_ = 0;
  std::array<uint64_t, kBounds.size() + 1> buckets_ = {};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_
