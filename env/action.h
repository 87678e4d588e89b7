// The actions of the game: each decides where one access finds or leaves its value.

#ifndef MALLOCMUZERO_ENV_ACTION_H_
#define MALLOCMUZERO_ENV_ACTION_H_

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

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_ACTION_H_
