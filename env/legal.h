// The legal actions of a decision, and what each of them does.

#ifndef MALLOCMUZERO_ENV_LEGAL_H_
#define MALLOCMUZERO_ENV_LEGAL_H_

#include <cstdint>

#include "env/action.h"
#include "env/game_state.h"
#include "env/refused_requests.h"
#include "env/residency.h"

namespace mallocmuzero {

// The choice at one access.
struct Options {
  ActionSet actions = 0;

  // The last instruction for which NoCopy keeps the value in fast memory.
  InstructionIndex keep_until = 0;

  // True if NoCopy makes the parameter of a carried group take over the initial value's bytes.
  bool takes_over = false;

  // Where a written value goes, or the value that is copied in.
  Place place;

  // The copy from HBM that Copy queues. `start` is -1 if Copy queues none.
  struct CopyIn {
    InstructionIndex start = -1;  // the point at which it is queued
    InstructionIndex done = -1;   // the point at which the value is needed
    InstructionIndex until = -1;  // last instruction for which the value stays
    LoopIndex loop = -1;          // loop in which it is queued, -1: outside of all loops

    friend bool operator==(const CopyIn&, const CopyIn&) = default;
  };
  CopyIn copy_in;

  friend bool operator==(const Options&, const Options&) = default;
};

// The options at the state's access. At least one action is legal. Depends on the state only and
// does not change it. `refused`, unless null, has requests for places that this state refuses, and
// gets more of them.
Options Legal(const GameState& state, RefusedRequests* refused = nullptr);

// The same for a player that takes Choose(intended, actions). If the intended action is legal,
// other legal actions and what they would do may be missing, because to find them can take much
// longer. Otherwise nothing is missing. So the player takes the same action, and it does the same.
Options Legal(const GameState& state, Action intended);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_LEGAL_H_
