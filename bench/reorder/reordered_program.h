// A captured program with the instructions of its entry computation in another order.

#ifndef MALLOCMUZERO_BENCH_REORDER_REORDERED_PROGRAM_H_
#define MALLOCMUZERO_BENCH_REORDER_REORDERED_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/reorder/dependency_graph.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "simulator/core/program.h"
#include "simulator/hlo/module.h"
#include "simulator/import/dataflow.h"

namespace mallocmuzero::reorder {

// A program in some order, ready to be played. Not movable: the rules point to the program.
struct PlayableOrder {
  PlayableOrder(Order units, Program reordered)
      : order(std::move(units)), program(std::move(reordered)) {}
  PlayableOrder(const PlayableOrder&) = delete;
  PlayableOrder& operator=(const PlayableOrder&) = delete;

  Order order;
  Program program;
  ProgramRules rules =
      *ProgramRules::Create(program);     // hardware without fast memory is refused before
  std::vector<uint32_t> original_access;  // by access of `program`: that of the original

  // A plan for the original order as one for this order, and the other way round.
  Plan FromOriginal(const Plan& plan) const;
  Plan ToOriginal(const Plan& plan) const;
};

// Makes programs of orders. Thread-compatible.
class Reorderer {
 public:
  // Reads a program and the compiles that it was imported from: `captures` is the folder of its
  // all_hbm.hlo.zst, default.hlo.zst and sample_*.hlo.zst. InvalidArgument if they do not belong
  // together.
  static absl::StatusOr<std::unique_ptr<Reorderer>> Load(const std::string& program_path,
                                                         const std::string& captures);

  // As imported, with the compiler's default as baseline.
  const Program& original() const { return original_; }
  const DependencyGraph& graph() const { return graph_; }
  Order OriginalOrder() const;

  // The program that the importer would make of a module in this order. Its live ranges are found
  // anew, and each instruction keeps its latencies. The original order gives the original program
  // with its baseline. Any other order keeps only the cross-program prefetch of the baseline, which
  // then lasts up to the last of its uses. InvalidArgument if the order is not legal.
  absl::StatusOr<std::unique_ptr<PlayableOrder>> Build(const Order& order);

  // Names of all instructions of the entry computation in that order.
  std::vector<std::string> InstructionNames(const Order& order) const;

 private:
  Reorderer(Program original, InPlaceHints hints);

  // Reads the module and fills everything below hints_.
  absl::Status ReadEntry(const std::string& path);

  // Brings the entry computation of module_ into this order.
  void Permute(const Order& order);

  // The access of the original that each access of `program` is. `program` has been assembled anew,
  // and `from` has the original's number of each of its instructions. InvalidArgument if the two do
  // not have the same accesses.
  absl::StatusOr<std::vector<uint32_t>> MatchAccesses(const v1::Program& program,
                                                      const std::vector<int32_t>& from) const;

  // Gives `program` a baseline with the cross-program prefetch alone, if the original has one.
  void KeepPrefetch(v1::Program& program, const std::vector<int32_t>& from,
                    const std::vector<uint32_t>& original_access) const;

  Program original_;
  InPlaceHints hints_;
  DependencyGraph graph_;
  std::vector<int32_t> unit_end_;  // by instruction of the original: the last one of its unit
  std::string path_;
  hlo::Module module_;
  // For each entry instruction as it was read: its operands and control predecessors, its name, and
  // its index in module_ now.
  hlo::Computation as_read_;
  std::vector<std::string> names_;
  std::vector<hlo::InstructionIndex> place_;
};

// Most bytes of HBM in use at a time if nothing is in fast memory: parameters, constants and
// results for the whole run, all else while it lives.
int64_t PeakHbmBytes(const Program& program);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_REORDERED_PROGRAM_H_
