#include "env/solvers/have_same_future.h"

#include <cmath>
#include <cstdint>

#include "absl/types/span.h"
#include "env/residency.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// Bytes of write-backs differ by rounding only, by less than this.
constexpr double kSlackBytes = 1e-3;

// Cycles of work on collectives, too.
constexpr double kSlackCycles = 1e-6;

bool HaveSameBuffer(const Game& a, const Game& b, BufferIndex buffer) {
  const Residency& of_a = a.state().residency;
  const Residency& of_b = b.state().residency;
  if (of_a.Holds(buffer) != of_b.Holds(buffer) || a.hbm_copy(buffer) != b.hbm_copy(buffer)) {
    return false;
  }
  if (!of_a.Holds(buffer)) return true;
  return of_a.Current(buffer).reserved == of_b.Current(buffer).reserved;
}

}  // namespace

bool HaveSameFuture(const Game& a, const Game& b) {
  if (a.access() != b.access() || a.legal_actions() != b.legal_actions()) return false;
  if (std::abs(a.timeline().PendingOut() - b.timeline().PendingOut()) > kSlackBytes) return false;
  if (std::abs(a.state().links.Pending() - b.state().links.Pending()) > kSlackCycles) return false;
  const Program& program = a.program();
  for (const CarriedGroupIndex g : program.carried_groups().indices()) {
    if (a.state().residency.group(g) != b.state().residency.group(g)) return false;
  }
  for (const BufferIndex buffer : program.buffers().indices()) {
    const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(buffer);
    if (accesses.empty() || accesses.back() < a.access()) continue;
    if (!HaveSameBuffer(a, b, buffer)) return false;
  }
  return true;
}

}  // namespace mallocmuzero
