// The pause of a reanalyser after a draw in which no game was to be searched again.

#ifndef MALLOCMUZERO_ACTOR_ROLE_DRAW_PAUSE_H_
#define MALLOCMUZERO_ACTOR_ROLE_DRAW_PAUSE_H_

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "actor/role/actor_state.h"
#include "actor/role/assigned_programs.h"

namespace mallocmuzero {

// The most time until the next draw for the same weights and programs. Meanwhile shards may get
// games of older weights.
inline constexpr absl::Duration kDrawPause = absl::Seconds(1);

// Tells when to draw again. New weights or programs end a pause, because stored games are then
// older than the weights. The times are those of SteadyNow. Not thread-safe.
class DrawPause {
 public:
  // Begins a pause at `now`: a draw for these inputs gave no game to search.
  void Begin(const RoundInputs& inputs, absl::Time now) {
    assigned_ = inputs.assigned;
    step_ = inputs.step;
    end_ = now + kDrawPause;
  }

  // Whether there is no draw for these inputs yet.
  bool Holds(const RoundInputs& inputs, absl::Time now) const {
    return now < end_ && inputs.step == step_ && inputs.assigned == assigned_;
  }

 private:
  std::shared_ptr<const AssignedPrograms> assigned_;
  uint64_t step_ = 0;
  absl::Time end_ = absl::InfinitePast();
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_DRAW_PAUSE_H_
