#include "actor/exploration.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "env/action.h"
#include "env/solvers/plan.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// The share of explored decisions that take any legal action. Without them a policy that gives an
// action almost no probability would never try it again, even with noise in its search.
constexpr double kActionShare = 0.5;

// The share of those that are repeated at all later accesses of the value.
constexpr double kHeldShare = 0.5;

// A stretch is the whole program, half of it, a quarter, and so on, but no shorter than this.
constexpr uint32_t kStretches = 6;
constexpr double kShortestStretch = 8;  // accesses

// The least share of a stretch's decisions that are not explored.
constexpr double kHighestRate = 0.5;

Action AnyAction(ActionSet legal, Random& random) {
  uint32_t left = random.Below(CountOf(legal));
  for (const Action action : kActions) {
    if (Contains(legal, action) && left-- == 0) return action;
  }
  return Action::kDrop;
}

}  // namespace

Exploration::Exploration(const Program& program, float rate, AccessIndex until, uint64_t seed)
    : program_(program), random_(seed), until_(until) {
  const double accesses = program.access_count();
  const double length = std::max(kShortestStretch, accesses / (1U << random_.Below(kStretches)));
  // The ends of the program are explored as often as its middle.
  first_ = (accesses + length) * random_.Unit() - length;
  end_ = first_ + length;
  const double concentrated = rate * (accesses + length) / length;
  // At a rate above 1, the share of explored decisions that take any action would grow.
  rate_ = std::min({concentrated, std::max<double>(rate, kHighestRate), 1.0});
}

AccessIndex Exploration::StretchEnd() const {
  return std::min(until_, AccessIndex(static_cast<int32_t>(std::ceil(end_))));
}

ExplorationKind Exploration::Next(AccessIndex access) {
  if (rate_ == 0 || access >= until_) return ExplorationKind::kNone;
  ReleaseUpTo(access);
  // All numbers are drawn even if they are not needed, so that one choice does not change the next.
  const double draw = random_.Unit();
  if (FindHeld(access) != nullptr) return ExplorationKind::kAction;
  if (!InStretch(access) || draw >= rate_) return ExplorationKind::kNone;
  return draw < kActionShare * rate_ ? ExplorationKind::kAction : ExplorationKind::kNoise;
}

Action Exploration::Act(AccessIndex access, ActionSet legal) {
  if (const Held* held = FindHeld(access)) return Choose(held->action, legal);
  const Action action = AnyAction(legal, random_);
  if (random_.Unit() < kHeldShare) {
    const Action rest = action == Action::kDrop ? Action::kDrop : Action::kNoCopy;
    held_.push_back({program_.accesses()[access].buffer, rest});
  }
  return action;
}

void Exploration::ReleaseUpTo(AccessIndex access) {
  // Writes with one legal action are no decisions, but end a value, too.
  for (; released_ <= access; ++released_) {
    const Access& passed = program_.accesses()[released_];
    if (passed.kind != AccessKind::kWrite) continue;
    std::erase_if(held_, [&](const Held& held) { return held.buffer == passed.buffer; });
  }
}

const Exploration::Held* Exploration::FindHeld(AccessIndex access) const {
  const BufferIndex buffer = program_.accesses()[access].buffer;
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& held) { return held.buffer == buffer; });
  return found == held_.end() ? nullptr : &*found;
}

}  // namespace mallocmuzero
