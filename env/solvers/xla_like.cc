#include "env/solvers/xla_like.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace mallocmuzero {
namespace {

constexpr double kPreferredOverlap = 1.5;  // of the time that a copy takes
constexpr double kMinOverlap = 0.8;

class XlaLike {
 public:
  explicit XlaLike(const ProgramFacts& facts)
      : facts_(facts),
        rules_(facts.rules()),
        program_(facts.program()),
        free_bytes_(program_.instruction_count(), facts.rules().fast_memory_bytes()),
        in_fast_memory_(program_.access_count(), 0) {}

  Plan Run(BudgetMeter& meter) {
    std::vector<std::pair<double, ValueIndex>> order;
    for (const ValueIndex v : facts_.values().indices()) {
      const Value& value = facts_.values()[v];
      if (!rules_.buffer(value.buffer).stays_in_hbm) order.push_back({-Priority(value), v});
    }
    std::sort(order.begin(), order.end());
    for (const auto& [priority, v] : order) {
      if (meter.CountStep()) break;
      Allocate(facts_.values()[v]);
    }
    return FollowPlan(program_, in_fast_memory_);
  }

 private:
  double Priority(const Value& value) const {
    double benefit = 0;
    for (const AccessIndex a : value.accesses) benefit += std::max(0.0, facts_.savings()[a]);
    return benefit / std::sqrt(static_cast<double>(program_.buffers()[value.buffer].bytes));
  }

  void Allocate(const Value& value) {
    const int64_t bytes = rules_.buffer(value.buffer).bytes;
    const bool is_made_here = program_.accesses()[value.accesses[0]].kind == AccessKind::kWrite;
    bool is_fast = false;         // up to `until`
    InstructionIndex until = -1;  // last instruction of the value in fast memory, or its last use
    for (size_t k = 0; k < value.accesses.size(); ++k) {
      const AccessIndex a = value.accesses[k];
      const auto instruction = program_.accesses()[a].instruction;
      const InstructionIndex end = rules_.SpanEnd(program_.accesses()[a].instruction,
                                                  rules_.buffer(value.buffer).defining_loop);
      const InstructionIndex first = is_fast ? until + 1 : instruction;
      const bool is_definition = k == 0 && is_made_here;
      if (is_fast || is_definition) is_fast = Reserve(bytes, first, end);
      if (!is_fast && !is_definition) is_fast = Prefetch(value.buffer, until, instruction, end);
      in_fast_memory_[a] = is_fast ? 1 : 0;
      until = std::max(until, end);
    }
  }

  // Takes `bytes` during [first, last] if there is room.
  bool Reserve(int64_t bytes, InstructionIndex first, InstructionIndex last) {
    if (LeastFree(first, last) < bytes) return false;
    for (InstructionIndex i = first; i <= last; ++i) free_bytes_[i] -= bytes;
    return true;
  }

  int64_t LeastFree(InstructionIndex first, InstructionIndex last) const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (InstructionIndex i = first; i <= last; ++i) least = std::min(least, free_bytes_[i]);
    return least;
  }

  // Reserves room for a copy that starts after `after` and for the use in [use, end]. Of the starts
  // with room it takes the one closest to the preferred overlap.
  bool Prefetch(BufferIndex buffer, InstructionIndex after, InstructionIndex use,
                InstructionIndex end) {
    const int64_t bytes = rules_.buffer(buffer).bytes;
    const LoopIndex loop = program_.instructions()[use].loop;
    const double copy_cycles = static_cast<double>(program_.buffers()[buffer].bytes) /
                               program_.hardware().hbm_bytes_per_cycle();
    int64_t least = LeastFree(use, end);
    std::optional<InstructionIndex> best;
    double best_distance = 0;
    for (InstructionIndex start = use - 1; start > after && least >= bytes; --start) {
      least = std::min(least, free_bytes_[start]);
      if (least < bytes) break;
      if (program_.instructions()[start].loop != loop) continue;
      const double overlap = facts_.cycles_before()[use] - facts_.cycles_before()[start];
      if (overlap < kMinOverlap * copy_cycles) continue;
      const double distance = std::abs(overlap - kPreferredOverlap * copy_cycles);
      if (best && distance >= best_distance) break;
      best = start;
      best_distance = distance;
    }
    return best && Reserve(bytes, *best, end);
  }

  const ProgramFacts& facts_;
  const ProgramRules& rules_;
  const Program& program_;
  IndexVector<InstructionIndex, int64_t> free_bytes_;  // by instruction
  IndexVector<AccessIndex, uint8_t> in_fast_memory_;   // by access
};

}  // namespace

Plan XlaLikePlan(const ProgramFacts& facts, BudgetMeter& meter) {
  return XlaLike(facts).Run(meter);
}

absl::StatusOr<std::vector<PlayedPlan>> XlaLikeSolver::Propose(const ProgramFacts& facts,
                                                               uint64_t /*seed*/,
                                                               BudgetMeter& meter) const {
  return PlayOne(facts.rules(), XlaLikePlan(facts, meter), meter);
}

}  // namespace mallocmuzero
