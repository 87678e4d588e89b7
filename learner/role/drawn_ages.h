// Measures how old the games are from which a learner draws positions.

#ifndef MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_
#define MALLOCMUZERO_LEARNER_ROLE_DRAWN_AGES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "replay/client/replay_sampler.h"

namespace mallocmuzero {

// A histogram of drawn positions by the age of their games. A game's age is the number of updates
// since the weights that it was played with, or last searched with. Only games of self-play have an
// age. Not thread-safe.
class DrawnAges {
 public:
  // The largest age of each bucket but the last, which counts all higher ages.
  static constexpr std::array<uint64_t, 10> kBounds = {0,    10,   30,    100,   300,
                                                       1000, 3000, 10000, 30000, 100000};

  // Adds positions that were drawn when the weights had `step` updates. The age is 0 for games by
  // newer weights, which exist if the learner was restarted from an older checkpoint.
  void Add(absl::Span<const DrawnPosition> drawn, uint64_t step);

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
