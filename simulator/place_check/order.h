// The schedule of the placed module: sequences, and what must run before what.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ORDER_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ORDER_H_

#include <vector>

#include "simulator/place_check/graph.h"
#include "simulator/place_check/match.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// The order in which the instructions of each computation run, as their indices. A fused
// computation has none.
struct Order {
  std::vector<std::vector<int>> sequences;
  std::vector<std::vector<int>> positions;  // the reverse: the place of each instruction
  bool complete = true;                     // each has a sequence with each instruction once
};

// Reports kSchedule and kScheduleOrder if there is a report.
Order ReadOrder(const Graph& graph, Report* report);

// Reports kOrderChanged and kControlDependency. Both orders must be complete.
void CompareOrders(const Graph& original, const Order& was, const Graph& placed, const Order& is,
                   const Match& match, bool allow_reordering, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_ORDER_H_
