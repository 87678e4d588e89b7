// How a game of self-play departs from what its player thinks best.

#ifndef MALLOCMUZERO_ACTOR_EXPLORATION_H_
#define MALLOCMUZERO_ACTOR_EXPLORATION_H_

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "env/action.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

enum class Departure : uint8_t {
  kNone,
  kNoise,   // a draw from what the player thinks good
  kAction,  // what Exploration::Act says, whatever the player thinks
};

// Decides for one game. What gains is seldom one decision: a value that is to be kept needs room
// that another one has, and is of use only if it stays. So explored decisions are close together,
// in a stretch of the program of any length, and some hold for the rest of a value.
class Exploration {
 public:
  // `program` must outlive it. `rate`: share of decisions that are explored, on average over games;
  // those that are held are not counted. From the access `until` on nothing is explored.
  Exploration(const Program& program, float rate, uint32_t until, uint64_t seed);

  // How the decision about an access is to be taken. Once for each decision, in their order.
  Departure Next(uint32_t access);

  // What is done where Next said kAction. `legal` must not be empty.
  Action Act(uint32_t access, ActionSet legal);

 private:
  // What all accesses of a buffer do until it is written anew.
  struct Held {
    uint32_t buffer;
    Action action;
  };

  const Held* FindHeld(uint32_t access) const;

  const Program& program_;
  Random random_;
  double rate_ = 0;   // of decisions from first_ up to end_
  double first_ = 0;  // accesses
  double end_ = 0;
  uint32_t until_;
  std::vector<Held> held_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_EXPLORATION_H_
