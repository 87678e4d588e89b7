// Predicts the effect of an order on memory without playing it.

#ifndef MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_
#define MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/reorder/dependency_graph.h"
#include "simulator/core/program.h"

namespace mallocmuzero::reorder {

// A value that is neither an input nor an output of the program and that at least two units touch.
struct Temporary {
  int64_t bytes = 0;
  bool gains = false;          // true if some access of it is faster in fast memory
  std::vector<int32_t> units;  // distinct, ascending
};

// Which temporaries each unit of a program touches, and how long each unit takes.
class UnitModel {
 public:
  // `original` is the program whose module `graph` was made from.
  UnitModel(const Program& original, const DependencyGraph& graph);

  const std::vector<Temporary>& temporaries() const { return temporaries_; }

  // For each unit the numbers of the temporaries that it touches, ascending.
  const std::vector<std::vector<int32_t>>& temporaries_of() const { return temporaries_of_; }

  // The bytes by which live temporaries exceed fast memory, times the cycles during which they do,
  // over a run with everything in HBM. Only temporaries that gain from fast memory and fit into it
  // count. A millionth of their live bytes times cycles is added, to distinguish orders that do not
  // exceed fast memory.
  double Crowding(const Order& order) const;

 private:
  std::vector<Temporary> temporaries_;
  std::vector<std::vector<int32_t>> temporaries_of_;
  std::vector<double> cycles_;  // for each unit
  int64_t fast_memory_bytes_;
};

// An order, and the name of the way in which it was made.
struct NamedOrder {
  std::string name;
  Order order;
};

// Legal orders made without search. Two of them always run the unit that needs least memory next,
// one built from the front and one from the back. Two others are depth-first orders from the units
// that only the root waits for; they differ in the operand that comes first.
std::vector<NamedOrder> ConstructOrders(const DependencyGraph& graph, const UnitModel& model);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_UNIT_MODEL_H_
