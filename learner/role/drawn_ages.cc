#include "learner/role/drawn_ages.h"

#include <algorithm>
#include <cstdint>

#include "absl/types/span.h"
#include "mallocmuzero/v1/trajectory.pb.h"

namespace mallocmuzero {

void DrawnAges::Add(absl::Span<const DrawnPosition> drawn, uint64_t step) {
  for (const DrawnPosition& position : drawn) {
    const v1::Trajectory& game = *position.trajectory;
    if (game.source() != v1::Trajectory::SELF_PLAY) continue;
    const uint64_t age = step > game.network_step() ? step - game.network_step() : 0;
    ++positions_;
    sum_ += static_cast<double>(age);
    ++buckets_[std::lower_bound(kBounds.begin(), kBounds.end(), age) - kBounds.begin()];
  }
}

}  // namespace mallocmuzero
