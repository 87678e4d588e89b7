// Local search over the order of instructions and the placement together.

#ifndef MALLOCMUZERO_BENCH_REORDER_ORDER_SEARCH_H_
#define MALLOCMUZERO_BENCH_REORDER_ORDER_SEARCH_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "bench/reorder/reordered_program.h"
#include "bench/reorder/unit_model.h"
#include "env/solvers/plan.h"

namespace mallocmuzero::reorder {

// Of the calling thread, so that budgets do not depend on what else the machine does.
double CpuSeconds();

// The best plan found by local search from the usual starts and `proposal` (a plan of this order;
// empty: none) in this much processor time.
Plan SolvePlacement(const PlayableOrder& playable, const Plan& proposal, uint64_t seed,
                    double cpu_seconds);

// Cycles of the game that the plan plays.
double CyclesOf(const PlayableOrder& playable, const Plan& plan);

struct OrderSearchOptions {
  double cpu_seconds = 40;
  double solve_seconds = 1;     // of local search for each constructed order
  uint64_t games = 100;         // of local search for an order that is worse with the plan it has
  double temperature = 5e-4;    // at the start, as a share of the cycles
  double memory_growth = 1.05;  // peak of HBM at most, as a share of the original order's
  uint64_t seed = 0;
};

struct FoundOrder {
  Order order;
  Plan plan;  // in the accesses of the original
  double cycles = 0;
  std::string start;        // the constructed order that the search went on from
  int64_t evaluated = 0;    // orders played
  int64_t accepted = 0;     // by the annealing
  int64_t over_memory = 0;  // orders refused for their peak of HBM
};

// Evaluates constructed orders, goes on from the best one with simulated annealing over orders,
// each with the plan of the one before and a little local search. `plan` is the plan for the
// original order to begin with. Never worse than that.
absl::StatusOr<FoundOrder> SearchOrders(Reorderer& reorderer, const Plan& plan,
                                        const OrderSearchOptions& options);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_ORDER_SEARCH_H_
