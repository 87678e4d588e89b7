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

// Processor time of the calling thread in seconds. Budgets are in this unit, so that they do not
// depend on other work of the machine.
double CpuSeconds();

// The best plan that local search finds in this much processor time. It starts from the usual plans
// and, if it is not empty, from `proposal`, a plan of this order.
Plan SolvePlacement(const PlayableOrder& playable, const Plan& proposal, uint64_t seed,
                    double cpu_seconds);

// Cycles of the game that the plan plays.
double CyclesOf(const PlayableOrder& playable, const Plan& plan);

// Settings of SearchOrders. Times are processor time in seconds.
struct OrderSearchOptions {
  double cpu_seconds = 40;
  double solve_seconds = 1;     // for local search in each constructed order
  uint64_t games = 100;         // of local search in an order whose plan takes too long
  double temperature = 5e-4;    // at the start, as a share of the cycles
  double memory_growth = 1.05;  // largest peak of HBM, as a share of the original order's
  uint64_t seed = 0;
};

// Result of SearchOrders.
struct FoundOrder {
  Order order;
  Plan plan;  // for the accesses of the original order
  double cycles = 0;
  std::string start;        // the constructed order from which the search continued
  int64_t evaluated = 0;    // number of orders played
  int64_t accepted = 0;     // number of orders that the annealing accepted
  int64_t over_memory = 0;  // number of orders refused because of their peak of HBM
};

// Evaluates constructed orders, and continues from the best one with simulated annealing over
// orders. Each order starts with the plan of the previous one, which a short local search may
// improve. `plan` is the first plan, for the original order. The result is never worse than `plan`
// in the original order.
absl::StatusOr<FoundOrder> SearchOrders(Reorderer& reorderer, const Plan& plan,
                                        const OrderSearchOptions& options);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_ORDER_SEARCH_H_
