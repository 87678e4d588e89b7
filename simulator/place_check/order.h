// The schedule of a module: the order in each computation, and the order that dependencies require.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ORDER_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ORDER_H_

#include <vector>

#include "simulator/place_check/graph.h"
#include "simulator/place_check/match.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// For each computation the indices of its instructions in the order in which they run. Empty for a
// fused computation, which has no order.
struct Order {
  std::vector<std::vector<int>> sequences;
  std::vector<std::vector<int>> positions;  // the reverse: the position of each instruction
  bool complete = true;  // each computation has a sequence with each instruction exactly once
};

// Reads the order from the module. Reports kSchedule and kScheduleOrder if `report` is not null.
Order ReadOrder(const Graph& graph, Report* report);

// Compares the orders of the original and of the placed module; both must be complete. Reports
// kOrderChanged and kControlDependency.
void CompareOrders(const Graph& original, const Order& was, const Graph& placed, const Order& is,
                   const Match& match, bool allow_reordering, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ORDER_H_
