#include "actor/exploration.h"

#include <algorithm>
#include <cstdint>

#include "env/action.h"
#include "env/solvers/plan.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// Of the explored decisions, how many take any legal action. A policy that has made up its mind
// would never again try what it has given up, however noisy its search.
constexpr double kActionShare = 0.5;

// Of those, how many hold for the rest of the value.
constexpr double kHeldShare = 0.5;

// A stretch is the whole program, half of it, a quarter, and so on, and not shorter than this.
constexpr uint32_t kStretches = 6;
constexpr double kShortestStretch = 8;  // accesses

// However short the stretch, at least so many of its decisions are what the player thinks best.
constexpr double kHighestRate = 0.5;

Action AnyAction(ActionSet legal, Random& random) {
  uint32_t left = random.Below(CountOf(legal));
  for (const Action action : kActions) {
    if (Contains(legal, action) && left-- == 0) return action;
  }
  return Action::kDrop;
}

}  // namespace

Exploration::Exploration(const Program& program, float rate, uint32_t until, uint64_t seed)
    : program_(program), random_(seed), until_(until) {
  const double accesses = program.access_count();
  const double length = std::max(kShortestStretch, accesses / (1U << random_.Below(kStretches)));
  // As often at the program's ends as in its middle.
  first_ = (accesses + length) * random_.Unit() - length;
  end_ = first_ + length;
  const double concentrated = rate * (accesses + length) / length;
  rate_ = std::min(concentrated, std::max<double>(rate, kHighestRate));
}

Departure Exploration::Next(uint32_t access) {
  if (rate_ == 0 || access >= until_) return Departure::kNone;
  const Access& decided = program_.accesses()[access];
  if (decided.kind == AccessKind::kWrite) {
    std::erase_if(held_, [&](const Held& held) { return held.buffer == decided.buffer; });
  }
  // Drawn whether needed or not, so that one choice does not change the next.
  const double draw = random_.Unit();
  if (FindHeld(access) != nullptr) return Departure::kAction;
  if (access < first_ || access >= end_ || draw >= rate_) return Departure::kNone;
  return draw < kActionShare * rate_ ? Departure::kAction : Departure::kNoise;
}

Action Exploration::Act(uint32_t access, ActionSet legal) {
  if (const Held* held = FindHeld(access)) return Choose(held->action, legal);
  const Action action = AnyAction(legal, random_);
  if (random_.Unit() < kHeldShare) {
    const Action rest = action == Action::kDrop ? Action::kDrop : Action::kNoCopy;
    held_.push_back({program_.accesses()[access].buffer, rest});
  }
  return action;
}

const Exploration::Held* Exploration::FindHeld(uint32_t access) const {
  const uint32_t buffer = program_.accesses()[access].buffer;
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& held) { return held.buffer == buffer; });
  return found == held_.end() ? nullptr : &*found;
}

}  // namespace mallocmuzero
