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
#include "simulator/import/analysis/dataflow.h"

namespace mallocmuzero::reorder {

// A program in some order, ready to be played. Not movable, because the rules point to the program.
struct PlayableOrder {
  PlayableOrder(Order units, Program reordered)
      : order(std::move(units)), program(std::move(reordered)) {}
  PlayableOrder(const PlayableOrder&) = delete;
  PlayableOrder& operator=(const PlayableOrder&) = delete;

  Order order;
  Program program;
  ProgramRules rules = ProgramRules::Create(program);
  // for each access of `program`: the access of the original
  IndexVector<AccessIndex, AccessIndex> original_access;

  // Converts a plan for the original order into one for this order, and the reverse.
  Plan FromOriginal(const Plan& plan) const;
  Plan ToOriginal(const Plan& plan) const;
};

// Makes a program for each order. Thread-compatible.
class Reorderer {
 public:
  // Reads a program and the compiles from which it was imported: `captures` is the folder with its
  // all_hbm.hlo.zst, default.hlo.zst and sample_*.hlo.zst. InvalidArgument if they do not belong
  // together.
  static absl::StatusOr<std::unique_ptr<Reorderer>> Load(const std::string& program_path,
                                                         const std::string& captures);

  // The program as imported, with the compiler's default as baseline.
  const Program& original() const { return original_; }
  const DependencyGraph& graph() const { return graph_; }
  Order OriginalOrder() const;

  // The program that the importer would make of a module in this order. Live ranges are computed
  // again; each instruction keeps its latencies. The original order gives the original program with
  // its baseline. With any other order, only the cross-program prefetch of the baseline is kept,
  // and lasts until the last of its uses. InvalidArgument if the order is not legal.
  absl::StatusOr<std::unique_ptr<PlayableOrder>> Build(const Order& order);

  // Names of all instructions of the entry computation in that order.
  std::vector<std::string> InstructionNames(const Order& order) const;

 private:
  Reorderer(Program original, InPlaceHints hints);

  // Reads the module and sets all members below hints_.
  absl::Status ReadEntry(const std::string& path);

  // Changes the entry computation of module_ to this order.
  void Permute(const Order& order);

  // For each access of `program`, the corresponding access of the original. `program` is the
  // program assembled for another order; `from` has for each of its instructions the index in the
  // original. InvalidArgument if the two programs do not have the same accesses.
  absl::StatusOr<IndexVector<AccessIndex, AccessIndex>> MatchAccesses(
      const v1::Program& program, const std::vector<InstructionIndex>& from) const;

  // Gives `program` a baseline that contains only the cross-program prefetch, if the original has
  // one.
  void KeepPrefetch(v1::Program& program, const std::vector<InstructionIndex>& from,
                    const IndexVector<AccessIndex, AccessIndex>& original_access) const;

  Program original_;
  InPlaceHints hints_;
  DependencyGraph graph_;
  // for each instruction of the original: the last instruction of its unit
  IndexVector<InstructionIndex, InstructionIndex> unit_end_;
  std::string path_;
  hlo::Module module_;
  // For each entry instruction, in the order in which it was read: its operands and control
  // predecessors, its name, and its present index in module_.
  hlo::Computation as_read_;
  std::vector<std::string> names_;
  std::vector<hlo::InstructionIndex> place_;
};

// The most bytes of HBM in use at the same time if nothing is in fast memory. Parameters and
// constants count for the whole run, results until its end, all other buffers while they live.
int64_t PeakHbmBytes(const Program& program);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_REORDERED_PROGRAM_H_
