// How old the games are that a learner draws positions from.

#ifndef MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_
#define MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "replay/client/replay_sampler.h"

namespace mallocmuzero {

// Counts drawn positions by the age of their game: updates of the weights since those that it was
// played with, or searched with again. Games of other sources than self-play have none.
class DrawnAges {
 public:
  // Largest age of each bucket but the last, which has all older ones.
  static constexpr std::array<uint64_t, 10> kBounds = {0,    10,   30,    100,   300,
                                                       1000, 3000, 10000, 30000, 100000};

  // `step`: updates of the weights now. Weights of an earlier life of the learner may be newer:
  // that is no age.
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
