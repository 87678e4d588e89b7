#include "env/address_audit.h"

#include <algorithm>

namespace mallocmuzero {

int64_t AddressAudit::LeastFree(const Game& game, int32_t first, int32_t last) const {
  int64_t least = game.memory_.bytes();
  for (int32_t i = first; i <= last; ++i) {
    const auto at = static_cast<uint32_t>(i);
    least = std::min(least, game.rules().Capacity(at, at) - used_[at]);
  }
  return least;
}

void AddressAudit::Look(const Game& game) {
  const GameRules& rules = game.rules();
  const uint32_t a = game.access();
  const Access& access = game.program().accesses()[a];
  if (rules.buffer(access.buffer).stays_in_hbm || game.IsCarriedFast(access.buffer)) return;
  const auto instruction_count = static_cast<int32_t>(game.program().instruction_count());
  used_.assign(static_cast<size_t>(instruction_count), 0);
  for (const Game::Stay& stay : game.stays_) {
    const int32_t last = std::min(game.TakenUntil(stay), instruction_count - 1);
    for (int32_t i = stay.first; i <= last; ++i) used_[i] += rules.buffer(stay.buffer).bytes;
  }
  const auto count = [&](bool allowed, bool refused) {
    counts_.allowed += allowed || !refused ? 1 : 0;
    counts_.refused += allowed && refused ? 1 : 0;
  };
  const int64_t bytes = rules.buffer(access.buffer).bytes;
  const auto now = game.instruction_;
  if (access.kind == AccessKind::kWrite) {
    const int32_t until = rules.access(a).keep_until;
    if (until != GameRules::kNone) {
      count(LeastFree(game, now, until) >= bytes, !game.IsLegal(Action::kNoCopy));
    }
    const int32_t copy_until = rules.access(a).copy_until;
    if (copy_until != GameRules::kNone) {
      count(LeastFree(game, now, copy_until) >= bytes, !game.IsLegal(Action::kCopy));
    }
    return;
  }
  if (access.kind != AccessKind::kRead) return;
  if (game.IsLegal(Action::kCopy)) {
    count(true, false);
  } else if (game.unplaced_start_ >= 0) {
    const int32_t until = rules.SpanEnd(static_cast<uint32_t>(now), game.unplaced_loop_);
    count(LeastFree(game, game.unplaced_start_, until) >= bytes, true);
  }
  LookAtKeep(game, a);
}

// A value that was in fast memory and lost its bytes could still be kept if those who took them
// were elsewhere.
void AddressAudit::LookAtKeep(const Game& game, uint32_t access) {
  const uint32_t buffer = game.program().accesses()[access].buffer;
  if (game.IsLegal(Action::kNoCopy)) {
    ++counts_.allowed;
    return;
  }
  if (game.buffers_[buffer].stay >= 0) return;
  const Game::Stay* last = nullptr;
  for (const Game::Stay& stay : game.stays_) {
    if (stay.buffer == buffer) last = &stay;
  }
  if (last == nullptr) return;
  for (const uint32_t a : game.program().AccessesOfBuffer(buffer)) {
    if (a >= access) break;
    const Access& before = game.program().accesses()[a];
    const bool changed = before.kind != AccessKind::kRead && game.in_fast_memory_[a] == 0;
    if (changed && static_cast<int32_t>(before.instruction) > last->last) return;
  }
  const int32_t loop = game.program().instructions()[game.instruction_].loop;
  if (!game.rules().IsInLoop(loop, last->loop)) return;
  const int32_t until = game.rules().SpanEnd(static_cast<uint32_t>(game.instruction_), last->loop);
  if (LeastFree(game, last->last + 1, until) < game.rules().buffer(buffer).bytes) return;
  ++counts_.allowed;
  ++counts_.refused;
}

}  // namespace mallocmuzero
