// The part of the dual that buffers have: the best plan of one buffer at given prices.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_CHAIN_PLAN_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_CHAIN_PLAN_H_

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/bound/buffer_chains.h"
#include "simulator/bound/prices.h"
#include "simulator/bound/range_minimum.h"
#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// The memory, bandwidth and accesses of plans, summed over all buffers.
struct Usage {
  // Bytes of fast memory during an instruction, less those during the instruction before. So a
  // buffer that stays long changes only two entries. There are n + 1 entries. They are whole
  // numbers, so that their sums are exact.
  IndexVector<InstructionIndex, double> memory_change;
  // Likewise for the large buffers of each limit.
  std::array<IndexVector<InstructionIndex, double>, kLargeLimits> large_change;
  // The bytes that copies move during each instruction.
  IndexVector<InstructionIndex, double> bandwidth;
  // 1 for each access in fast memory.
  IndexVector<AccessIndex, double> accesses;
  // 1 for each access up to which the value stays in fast memory from the access before.
  IndexVector<AccessIndex, double> stays;
};

// Finds plans by dynamic programming over the accesses of one buffer. After each access the value
// is in HBM, in both memories, or in fast memory only. Staying pays the price of memory, a copy
// pays the price of bandwidth where it is cheapest, and an access in fast memory earns its price.
//
// A copy moves its bytes during one instruction, or while the program waits. A real copy spreads
// over several, but then it pays at least what its cheapest byte pays here, and it holds memory at
// least as long. Plans therefore earn at least what a valid mapping earns.
//
// Not thread-safe: a planner has the tables of the present prices and scratch memory.
class ChainPlanner {
 public:
  // `waits` are those of Counted: how often the program waits just before each instruction.
  ChainPlanner(const Program& program, IndexSpan<InstructionIndex, const double> waits);

  // Prepares the planner for prices, which must outlive its use.
  void SetPrices(const Prices& prices);

  // The most that the buffer earns, at least 0 (everything in HBM). Adds what that plan uses.
  double Plan(const BufferChain& chain, Usage& usage);

 private:
  enum State : uint8_t { kHbm, kBoth, kFast, kStateCount };

  // How a state was reached. A field is true if the plan pays for it in the gap before the access.
  struct Step {
    State from = kHbm;
    bool held = false;              // stays in fast memory through the gap
    bool copied_in = false;         // copied into fast memory for the access
    bool written_back = false;      // copied to HBM in the gap
    bool in_fast_memory = false;    // during the instruction of the access
    bool uses_fast_memory = false;  // the access does
  };

  // When a write-back may move its bytes: during the instructions from `begin` to `end`, exclusive,
  // or while the program waits just before `end`. The value's place is paid for before the
  // instruction `paid_before` and, if it is `held`, up to `end`.
  struct WriteBackTime {
    InstructionIndex begin = 0;
    InstructionIndex end = 0;
    InstructionIndex paid_before = 0;
    bool held = false;
  };

  struct Arrival {
    double worth;
    Step step;
  };
  using Arrivals = std::array<Arrival, kStateCount>;

  Arrivals CrossGap(const BufferChain& chain, size_t link) const;
  void Reach(const BufferChain& chain, size_t link, const Arrivals& arrivals);
  double Hold(const BufferChain& chain, InstructionIndex begin, InstructionIndex end) const;
  double CopyIn(const BufferChain& chain, const ChainLink& link) const;
  static WriteBackTime TimeBefore(const BufferChain& chain, size_t link, bool held);
  static WriteBackTime TimeAtEnd(const BufferChain& chain);
  double WriteBack(const BufferChain& chain, const WriteBackTime& time) const;
  double EndCost(const BufferChain& chain) const;

  static void UseBytes(double bytes, InstructionIndex begin, InstructionIndex end, Usage& usage);
  static void UseHold(const BufferChain& chain, InstructionIndex begin, InstructionIndex end,
                      Usage& usage);
  void UseCopyIn(const BufferChain& chain, const ChainLink& link, Usage& usage) const;
  void UseWriteBack(const BufferChain& chain, const WriteBackTime& time, Usage& usage) const;
  void UseEnd(const BufferChain& chain, Usage& usage) const;
  void UsePlan(const BufferChain& chain, State last, Usage& usage) const;

  const Program& program_;
  // The cycles for a byte that is moved while the program waits, n + 1 entries.
  IndexVector<InstructionIndex, double> wait_;
  const Prices* prices_ = nullptr;
  // The prefix sums of the prices of memory, n + 1 entries.
  IndexVector<InstructionIndex, double> held_before_;

  // The same for the prices of limit k and all later limits.
  std::array<IndexVector<InstructionIndex, double>, kLargeLimits> large_before_;
  RangeMinimum bandwidth_;
  RangeMinimum copy_in_;
  RangeMinimum write_back_;
  IndexVector<InstructionIndex, double> scratch_;
  std::vector<std::array<Step, kStateCount>> steps_;
  std::array<double, kStateCount> worth_ = {};
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_CHAIN_PLAN_H_
