// The cycles of every instruction as a function of which of its accesses are in fast memory.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_LATENCY_TABLE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_LATENCY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "simulator/core/program_types.h"

namespace mallocmuzero {

// Position of the pair of accesses j < k in LatencyClass.pair_savings_cycles. PairIndex(0, n) is
// also the number of pairs of n accesses.
inline size_t PairIndex(size_t j, size_t k) { return k * (k - 1) / 2 + j; }

// A lower bound on the cycles of one instruction under any set of accesses in fast memory.
struct LatencyEnvelope {
  // One execution takes at least max(least_cycles, base_cycles - the sum of `savings` of the
  // accesses in fast memory).
  double least_cycles = 0;
  double base_cycles = 0;
  std::vector<double> savings;  // one for each access, cycles, at least 0

  double most_cycles = 0;  // at most this, under any set
};

// Immutable; safe to read from many threads at once.
class LatencyTable {
 public:
  // An empty table, so that containers can hold one.
  LatencyTable() = default;

  // `accesses` and `instructions` are those of the program, already checked; `hardware` gives the
  // rates for modelled instructions. InvalidArgument, with the field in the message, if an index, a
  // count, an order or a number is wrong.
  static absl::StatusOr<LatencyTable> FromProto(
      const v1::LatencyTable& proto, IndexSpan<InstructionIndex, const Instruction> instructions,
      IndexSpan<AccessIndex, const Access> accesses, const v1::Hardware& hardware);

  // Cycles of one execution. Access k of the instruction, counted from its first access, is in fast
  // memory if bit k of `fast_mask` is set, else in HBM. Bits from access_count on must be clear.
  // The first of these rules that applies gives the cycles:
  // - An exception of this instruction, or an observation of its class, for exactly this set of
  //   accesses.
  // - For a modelled instruction: max(flops / flops_per_cycle, cycles of the links, HBM bytes / HBM
  //   rate + fast-memory bytes / fast-memory rates). Half of an update's bytes count as read and
  //   half as written; fixed_hbm_bytes count as HBM bytes (XLA
  //   memory_space_assignment/cost_analysis.cc, GetInstructionElapsedInAlternateMemory).
  // - clamp(base - savings of the accesses in fast memory - savings of the pairs among them, floor,
  //   ceiling).
  //
  // Loop markers take 0 cycles.
  double Cycles(InstructionIndex instruction, uint64_t fast_mask) const {
    const Row& row = rows_[instruction];
    if (row.dense) return dense_cycles_[row.first + fast_mask];
    return SparseCycles(formulas_[row.first], fast_mask);
  }

  // Bounds for an instruction with `access_count` accesses. They are close for instructions with
  // many accesses, whose cycles follow the last two rules above, and loose for instructions that
  // have few: their sets of accesses can be tried instead.
  LatencyEnvelope Envelope(InstructionIndex instruction, uint32_t access_count) const;

 private:
  // The place of an instruction's cycles. For an instruction with few accesses, dense_cycles_ has
  // the cycles of every set of accesses, from `first` on; instructions that are alike share these
  // entries. Any other instruction has a formula, formulas_[first].
  struct Row {
    uint32_t first = 0;
    bool dense = true;
  };

  // clamp(base - savings, floor, ceiling). A roofline takes this form too: the saving of an access
  // is the time that it takes longer in HBM than in fast memory, and the floor is the time to
  // compute.
  struct Formula {
    double base = 0;
    double floor = 0;
    double ceiling = 0;
    // index into savings_: one saving for each access, then, if has_pairs, one for each pair
    uint32_t first_saving = 0;
    bool has_pairs = false;
    uint32_t access_count = 0;
    uint32_t first_exception = 0;  // index into observed_, ascending by mask
    uint32_t exception_count = 0;
    uint32_t first_observation = 0;  // index into observed_, ascending by mask
    uint32_t observation_count = 0;
  };

  struct Observed {
    uint64_t fast_mask;
    double cycles;
  };

  class Builder;

  double SparseCycles(const Formula& formula, uint64_t fast_mask) const;
  LatencyEnvelope DenseEnvelope(uint32_t first, uint32_t access_count) const;
  LatencyEnvelope FormulaEnvelope(const Formula& formula) const;

  // Lowers the bounds to an observation that lies below them.
  static void Include(const Observed& observed, LatencyEnvelope& envelope);

  IndexVector<InstructionIndex, Row> rows_;
  std::vector<double> dense_cycles_;
  std::vector<Formula> formulas_;
  std::vector<double> savings_;
  std::vector<Observed> observed_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_LATENCY_TABLE_H_
