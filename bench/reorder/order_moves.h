// Makes random legal changes of an order.

#ifndef MALLOCMUZERO_BENCH_REORDER_ORDER_MOVES_H_
#define MALLOCMUZERO_BENCH_REORDER_ORDER_MOVES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bench/reorder/dependency_graph.h"
#include "bench/reorder/unit_model.h"

namespace mallocmuzero::reorder {

// Thread-compatible. `graph` and `model` must outlive it.
class OrderMoves {
 public:
  OrderMoves(const DependencyGraph& graph, const UnitModel& model);

  // Makes one or a few changes in a row. The order stays legal. A change is one of these:
  //   - A unit moves to another position.
  //   - The producer of a value moves back until just before the next unit that needs the producer,
  //     or the last user of the value moves forward until just behind the last unit that it needs.
  //     Large values that gain from fast memory are drawn more often.
  //   - Several adjacent units move together.
  //   - A unit moves to the front of the stretch before it, together with all units of that stretch
  //     that it needs; or to the end of the stretch behind it, together with all units there that
  //     need it.
  void Change(Order& order, Random& random) const;

 private:
  // The positions, inclusive, to which the unit may move while all others stay.
  std::pair<int32_t, int32_t> Range(const std::vector<int32_t>& places, int32_t unit) const;

  void MoveUnit(Order& order, int32_t from, int32_t to) const;
  void MoveAnywhere(Order& order, Random& random) const;
  void ShortenLife(Order& order, Random& random) const;
  void MoveRow(Order& order, Random& random) const;
  void MoveChain(Order& order, Random& random) const;

  const DependencyGraph& graph_;
  const UnitModel& model_;
  std::vector<double> cumulative_bytes_;  // running sum over the temporaries
};

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_ORDER_MOVES_H_
