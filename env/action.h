// The actions of the game: each decides where one access finds or leaves its value.

#ifndef MALLOCMUZERO_ENV_ACTION_H_
#define MALLOCMUZERO_ENV_ACTION_H_

#include <cassert>
#include <cstdint>

#include "base/enums.h"

namespace mallocmuzero {

// docs/mallocgame.md, section "Actions".
enum class Action : uint8_t {
  kCopy = 0,    // copy the value in; a written value is also written back to HBM
  kNoCopy = 1,  // use or write the value in fast memory only
  kDrop = 2,    // access HBM
};

inline constexpr int kActionCount = 3;
inline constexpr Action kActions[kActionCount] = {Action::kCopy, Action::kNoCopy, Action::kDrop};

// A set of actions: bit Underlying(action).
using ActionSet = uint8_t;

constexpr ActionSet SetOf(Action action) { return 1U << Underlying(action); }
constexpr bool Contains(ActionSet set, Action action) { return (set & SetOf(action)) != 0; }
constexpr int CountOf(ActionSet set) { return __builtin_popcount(set); }

// The intended action if it is legal, else the closest legal one. For Copy and NoCopy the other of
// the two is the closest, then Drop. For Drop it is Copy, which leaves the value in HBM as well,
// then NoCopy. `legal` must not be empty.
constexpr Action Choose(Action intended, ActionSet legal) {
  assert(legal != 0);
  if (Contains(legal, intended)) return intended;
  if (intended == Action::kDrop) {
    return Contains(legal, Action::kCopy) ? Action::kCopy : Action::kNoCopy;
  }
  const Action other = intended == Action::kCopy ? Action::kNoCopy : Action::kCopy;
  return Contains(legal, other) ? other : Action::kDrop;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_ACTION_H_
