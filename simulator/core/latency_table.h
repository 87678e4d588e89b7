// Cycles of every instruction as a function of its accesses in fast memory.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_LATENCY_TABLE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_LATENCY_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "simulator/core/program_types.h"

namespace mallocmuzero {

// Immutable; safe to read from many threads.
class LatencyTable {
 public:
  // An empty table, for containers.
  LatencyTable() = default;

  // InvalidArgument naming the field if an index, a count, an order or a number is wrong.
  // `accesses` and `instructions` are those of the program, already checked; `hardware` gives the
  // rates of modelled instructions.
  static absl::StatusOr<LatencyTable> FromProto(const v1::LatencyTable& proto,
                                                absl::Span<const Instruction> instructions,
                                                absl::Span<const Access> accesses,
                                                const v1::Hardware& hardware);

  // Cycles of one execution with access k of the instruction (in its own order) in fast memory if
  // bit k of `fast_mask` is set, else in HBM. Bits from access_count on must be clear. The first
  // that applies:
  //   an exception of this instruction, or an observation of its class, with exactly this set;
  //   modelled: max(flops / flops_per_cycle, HBM bytes / HBM rate + fast-memory bytes / its rates),
  //     half of an update's bytes read and half written, fixed_hbm_bytes in HBM
  //     (XLA memory_space_assignment/cost_analysis.cc, GetInstructionElapsedInAlternateMemory);
  //   clamp(base - sum of savings of the accesses in fast memory and of pairs of them, floor,
  //     ceiling).
  // Markers take 0.
  double Cycles(uint32_t instruction, uint64_t fast_mask) const {
    const Row& row = rows_[instruction];
    if (row.dense) return dense_cycles_[row.first + fast_mask];
    return SparseCycles(formulas_[row.first], fast_mask);
  }

 private:
  // Instructions with few accesses have their cycles for every set in dense_cycles_ at `first`;
  // instructions that are alike share them. The others have an entry in formulas_ at `first`.
  struct Row {
    uint32_t first = 0;
    bool dense = true;
  };

  // clamp(base - savings, floor, ceiling): the roofline is one too, with what HBM costs more than
  // fast memory as an access's saving and the time to compute as floor.
  struct Formula {
    double base = 0;
    double floor = 0;
    double ceiling = 0;
    uint32_t first_saving = 0;  // into savings_, one an access; then, if it has_pairs, one a pair
    bool has_pairs = false;
    uint32_t access_count = 0;
    uint32_t first_exception = 0;  // into observed_, ascending by mask
    uint32_t exception_count = 0;
    uint32_t first_observation = 0;  // into observed_, ascending by mask
    uint32_t observation_count = 0;
  };

  struct Observed {
    uint64_t fast_mask;
    double cycles;
  };

  class Builder;

  double SparseCycles(const Formula& formula, uint64_t fast_mask) const;

  std::vector<Row> rows_;
  std::vector<double> dense_cycles_;
  std::vector<Formula> formulas_;
  std::vector<double> savings_;
  std::vector<Observed> observed_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_LATENCY_TABLE_H_
