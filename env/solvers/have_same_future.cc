#include "env/solvers/have_same_future.h"

#include <algorithm>
#include <cmath>

#include "absl/types/span.h"
#include "env/action.h"
#include "env/fast_memory.h"
#include "env/residency.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// Bytes of write-backs differ by rounding only, by less than this.
constexpr double kSlackBytes = 1e-3;

// Cycles of work on collectives, too.
constexpr double kSlackCycles = 1e-6;

bool IsUsedAgain(const Game& game, BufferIndex buffer) {
  const absl::Span<const AccessIndex> accesses = game.program().AccessesOfBuffer(buffer);
  return !accesses.empty() && accesses.back() >= game.access();
}

// Whether the plan reads the value from HBM at its next use. Fast memory may have it, too, but no
// longer keeps its bytes from others.
bool WillDrop(const Game& game, const Plan& plan, BufferIndex buffer) {
  if (game.hbm_copy(buffer) != Game::HbmCopy::kCurrent) return false;
  const Program& program = game.program();
  const InstructionIndex now = program.accesses()[game.access()].instruction;
  if (game.InFastMemory(buffer) && game.state().residency.Current(buffer).reserved >= now) {
    return false;
  }
  const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(buffer);
  const auto next = std::lower_bound(accesses.begin(), accesses.end(), game.access());
  return next != accesses.end() && plan[*next] == Action::kDrop;
}

// Whether `b` has the values that `a` holds in fast memory, in the same way.
bool HoldsWhatTheOtherHolds(const Game& a, const Game& b, const Plan& plan) {
  const Residency& of_a = a.state().residency;
  const Residency& of_b = b.state().residency;
  for (const FastMemory::Region& region : a.fast_memory().regions()) {
    if (region.owner == FastMemory::kNobody) continue;
    const Stay& stay = of_a.stays()[region.owner];
    const BufferIndex buffer = stay.buffer;
    if (of_a.StayOf(buffer) != region.owner || !IsUsedAgain(a, buffer)) continue;
    const bool is_alike = of_b.Holds(buffer) && of_b.Current(buffer).reserved == stay.reserved &&
                          a.hbm_copy(buffer) == b.hbm_copy(buffer);
    if (!is_alike && !(WillDrop(a, plan, buffer) && WillDrop(b, plan, buffer))) return false;
  }
  return true;
}

// Whether the values that are on their way to HBM in `a` are so in `b`. A value that fast memory
// does not hold and that is used again is in HBM if it is not on its way.
bool WritesBackWhatTheOtherDoes(const Game& a, const Game& b) {
  for (WriteBackIndex w = a.timeline().first_pending(); w < a.timeline().write_back_count(); ++w) {
    const BufferIndex buffer = a.BufferOf(w);
    if (a.state().hbm[buffer].write_back != w || !IsUsedAgain(a, buffer)) continue;
    if (a.hbm_copy(buffer) != b.hbm_copy(buffer)) return false;
  }
  return true;
}

}  // namespace

bool HaveSameFuture(const Game& a, const Game& b, const Plan& plan) {
  if (a.access() != b.access() || a.legal_actions() != b.legal_actions()) return false;
  if (std::abs(a.timeline().PendingOut() - b.timeline().PendingOut()) > kSlackBytes) return false;
  if (std::abs(a.state().links.Pending() - b.state().links.Pending()) > kSlackCycles) return false;
  for (const CarriedGroupIndex g : a.program().carried_groups().indices()) {
    if (a.state().residency.group(g) != b.state().residency.group(g)) return false;
  }
  return HoldsWhatTheOtherHolds(a, b, plan) && HoldsWhatTheOtherHolds(b, a, plan) &&
         WritesBackWhatTheOtherDoes(a, b) && WritesBackWhatTheOtherDoes(b, a);
}

}  // namespace mallocmuzero
