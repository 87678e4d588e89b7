// The effect of units on buffers, to judge an order without playing it.

#ifndef MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_
#define MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/reorder/dependency_graph.h"
#include "simulator/core/program.h"

namespace mallocmuzero::reorder {

// A value that is neither there before the program nor after it, and that two units or more touch.
struct Temporary {
  int64_t bytes = 0;
  bool gains = false;          // some access of it takes less time in fast memory
  std::vector<int32_t> units;  // distinct, ascending
};

class UnitModel {
 public:
  // `original` is the program whose module `graph` was found in.
  UnitModel(const Program& original, const DependencyGraph& graph);

  const std::vector<Temporary>& temporaries() const { return temporaries_; }

  // The numbers of the temporaries that each unit touches, ascending.
  const std::vector<std::vector<int32_t>>& temporaries_of() const { return temporaries_of_; }

  // Cycles times the bytes by which live temporaries exceed the fast memory, over the run with
  // everything in HBM. Only temporaries count that gain from fast memory and fit into it. A
  // millionth of their live bytes times cycles is added, to tell orders apart that exceed nothing.
  double Crowding(const Order& order) const;

 private:
  std::vector<Temporary> temporaries_;
  std::vector<std::vector<int32_t>> temporaries_of_;
  std::vector<double> cycles_;  // by unit
  int64_t fast_memory_bytes_;
};

struct NamedOrder {
  std::string name;
  Order order;
};

// Legal orders made without search. Two of them run the unit next that needs least memory; one is
// built from the front, the other from the back. Two are depth first from units that no unit but
// the root waits for. They differ in the operand that comes first.
std::vector<NamedOrder> ConstructOrders(const DependencyGraph& graph, const UnitModel& model);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_
