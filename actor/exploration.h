// Which decisions of a game of self-play are explored, and how.

#ifndef MALLOCMUZERO_ACTOR_EXPLORATION_H_
#define MALLOCMUZERO_ACTOR_EXPLORATION_H_

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "env/action.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// How a decision is explored.
enum class ExplorationKind : uint8_t {
  kNone,    // the player takes the action that it finds best
  kNoise,   // the player draws an action from its policy, or searches with noise
  kAction,  // Exploration::Act gives the action; the policy does not count
};

// Chooses the explored decisions of one game. One changed decision alone seldom gains. A value can
// be kept only if another value makes room, and it saves cycles only if it stays until its next
// use. So explored decisions are close together, in a stretch of the program whose length is drawn.
// Some explored actions are repeated at all later accesses of the value.
class Exploration {
 public:
  // `program` must outlive it. `rate` is the share of decisions that are explored, on average over
  // games; repeated actions do not count. At most half of the decisions of a stretch are explored,
  // or `rate` if that is more, so games that draw a short stretch may explore fewer. No access from
  // `until` on is explored.
  Exploration(const Program& program, float rate, AccessIndex until, uint64_t seed);

  // Whether the access lies in the stretch of the program that is explored.
  bool InStretch(AccessIndex access) const {
    return access.number() >= first_ && access < StretchEnd();
  }

  // The first access after that stretch. It may be after the end of the program.
  AccessIndex StretchEnd() const;

  // How to take the decision about an access. Call it once for each decision, in their order.
  ExplorationKind Next(AccessIndex access);

  // The action to take after Next returned kAction. `legal` must not be empty.
  Action Act(AccessIndex access, ActionSet legal);

 private:
  // An action that all accesses of a buffer repeat until the buffer is written again.
  struct Held {
    BufferIndex buffer;
    Action action;
  };

  // Forgets the actions whose values are written anew at `access` or before it.
  void ReleaseUpTo(AccessIndex access);

  const Held* FindHeld(AccessIndex access) const;

  const Program& program_;
  Random random_;
  double rate_ = 0;   // of decisions from first_ up to end_
  double first_ = 0;  // accesses
  double end_ = 0;
  AccessIndex until_;
  AccessIndex released_ = 0;  // the first access that ReleaseUpTo has not seen
  std::vector<Held> held_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_EXPLORATION_H_
