// What units do to buffers, for orders that are judged without playing them.

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

  // By unit: numbers of the temporaries it touches, ascending.
  const std::vector<std::vector<int32_t>>& temporaries_of() const { return temporaries_of_; }

  // Cycles times bytes by which the temporaries that gain exceed the fast memory, over the run with
  // everything in HBM; and a millionth of the cycles times bytes that they live.
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

// Legal orders made without search: units that need least memory next, from the front and from the
// back, and depth first from what nobody waits for.
std::vector<NamedOrder> ConstructOrders(const DependencyGraph& graph, const UnitModel& model);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_
