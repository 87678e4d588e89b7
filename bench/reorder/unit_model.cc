#include "bench/reorder/unit_model.h"

#include <algorithm>
#include <limits>

#include "base/size32.h"
#include "simulator/core/savings.h"

namespace mallocmuzero::reorder {
namespace {

// Weight of the live bytes in the crowding: just enough to compare orders that do not exceed fast
// memory.
constexpr double kShareOfLife = 1e-6;

// Builds an order step by step: the next unit is always the one that adds least to the memory in
// use.
class LeastMemoryFirst {
 public:
  // If `backwards`, the order is built from its end, so that a unit is available when all its
  // successors have been placed.
  LeastMemoryFirst(const DependencyGraph& graph, const UnitModel& model, bool backwards)
      : graph_(graph), model_(model), backwards_(backwards) {
    for (const Temporary& temporary : model.temporaries()) {
      users_left_.push_back(temporary.units.size());
    }
    for (int32_t u = 0; u < graph.size(); ++u) {
      waits_for_.push_back(Before(u).size());
      if (Before(u).empty()) ready_.push_back(u);
    }
  }

  Order Run() && {
    Order order;
    while (!ready_.empty()) {
      const auto best =
          std::min_element(ready_.begin(), ready_.end(), [this](int32_t a, int32_t b) {
            const int64_t growth_a = Growth(a);
            const int64_t growth_b = Growth(b);
            if (growth_a != growth_b) return growth_a < growth_b;
            return backwards_ ? a > b : a < b;
          });
      const int32_t unit = *best;
      ready_.erase(best);
      order.push_back(unit);
      for (const int32_t t : model_.temporaries_of()[unit]) --users_left_[t];
      for (const int32_t next : After(unit)) {
        if (--waits_for_[next] == 0) ready_.push_back(next);
      }
    }
    if (backwards_) std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  const std::vector<int32_t>& Before(int32_t unit) const {
    return backwards_ ? graph_.units[unit].successors : graph_.units[unit].predecessors;
  }
  const std::vector<int32_t>& After(int32_t unit) const {
    return backwards_ ? graph_.units[unit].predecessors : graph_.units[unit].successors;
  }

  int64_t Growth(int32_t unit) const {
    int64_t growth = 0;
    for (const int32_t t : model_.temporaries_of()[unit]) {
      const Temporary& temporary = model_.temporaries()[t];
      if (users_left_[t] == temporary.units.size()) growth += temporary.bytes;
      if (users_left_[t] == 1) growth -= temporary.bytes;
    }
    return growth;
  }

  const DependencyGraph& graph_;
  const UnitModel& model_;
  const bool backwards_;
  std::vector<size_t> users_left_;  // for each temporary
  std::vector<size_t> waits_for_;   // for each unit
  std::vector<int32_t> ready_;
};

// An order in which each unit runs just behind the last of those predecessors that had to run for
// it. The search begins at the units that only the root waits for. It visits the predecessors of a
// unit in ascending or in descending order.
Order DepthFirst(const DependencyGraph& graph, bool descending) {
  Order order;
  std::vector<uint8_t> seen(graph.units.size(), 0);
  const auto visit = [&](int32_t start) {
    struct Frame {
      int32_t unit;
      size_t next;
    };
    std::vector<Frame> stack;
    const auto enter = [&](int32_t unit) {
      if (seen[unit] != 0) return;
      seen[unit] = 1;
      stack.push_back({unit, 0});
    };
    enter(start);
    while (!stack.empty()) {
      Frame& top = stack.back();
      const std::vector<int32_t>& before = graph.units[top.unit].predecessors;
      if (top.next < before.size()) {
        const size_t k = top.next++;
        enter(descending ? before[before.size() - 1 - k] : before[k]);
      } else {
        order.push_back(top.unit);
        stack.pop_back();
      }
    }
  };
  for (int32_t u = 0; u < graph.size(); ++u) {
    const std::vector<int32_t>& after = graph.units[u].successors;
    if (after.empty() || (after.size() == 1 && after[0] == graph.size() - 1)) visit(u);
  }
  return order;
}

}  // namespace

UnitModel::UnitModel(const Program& original, const DependencyGraph& graph)
    : temporaries_of_(graph.units.size()),
      cycles_(graph.units.size(), 0),
      fast_memory_bytes_(original.hardware().fast_memory_bytes()) {
  IndexVector<InstructionIndex, int32_t> unit_of(original.instruction_count(), -1);
  for (int32_t u = 0; u < graph.size(); ++u) {
    for (InstructionIndex i = graph.units[u].first_priced; i < graph.units[u].end_priced; ++i) {
      unit_of[i] = u;
      cycles_[u] += original.instructions()[i].execution_count * original.latency().Cycles(i, 0);
    }
  }
  const IndexVector<AccessIndex, double> savings = FindSavings(original);
  IndexVector<BufferIndex, Temporary> touched(original.buffer_count());
  for (const BufferIndex b : original.buffers().indices()) {
    touched[b].bytes = original.buffers()[b].bytes;
    for (const AccessIndex a : original.AccessesOfBuffer(b)) {
      touched[b].units.push_back(unit_of[original.accesses()[a].instruction]);
      touched[b].gains = touched[b].gains || savings[a] > 0;
    }
  }
  for (const CarriedGroup& group : original.carried_groups()) {
    const int32_t unit = unit_of[original.loops()[group.loop].begin];
    touched[group.initial_buffer].units.push_back(unit);
    touched[group.result_buffer].units.push_back(unit);
  }
  for (const BufferIndex b : original.buffers().indices()) {
    std::vector<int32_t>& units = touched[b].units;
    std::sort(units.begin(), units.end());
    units.erase(std::unique(units.begin(), units.end()), units.end());
    const Buffer& buffer = original.buffers()[b];
    if (buffer.live_in || buffer.live_out || units.size() < 2) continue;
    for (const int32_t u : units) {
      temporaries_of_[u].push_back(Size32(temporaries_));
    }
    temporaries_.push_back(std::move(touched[b]));
  }
}

double UnitModel::Crowding(const Order& order) const {
  const std::vector<int32_t> places = Places(order);
  std::vector<int64_t> change(order.size() + 1, 0);
  for (const Temporary& temporary : temporaries_) {
    if (!temporary.gains || temporary.bytes > fast_memory_bytes_) continue;
    int32_t first = std::numeric_limits<int32_t>::max();
    int32_t last = -1;
    for (const int32_t unit : temporary.units) {
      first = std::min(first, places[unit]);
      last = std::max(last, places[unit]);
    }
    change[first] += temporary.bytes;
    change[last + 1] -= temporary.bytes;
  }
  double crowding = 0;
  int64_t live = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    live += change[k];
    const auto excess = static_cast<double>(std::max<int64_t>(live - fast_memory_bytes_, 0));
    crowding += cycles_[order[k]] * (excess + kShareOfLife * static_cast<double>(live));
  }
  return crowding;
}

std::vector<NamedOrder> ConstructOrders(const DependencyGraph& graph, const UnitModel& model) {
  return {{"least memory first", LeastMemoryFirst(graph, model, false).Run()},
          {"least memory first, from the end", LeastMemoryFirst(graph, model, true).Run()},
          {"depth first", DepthFirst(graph, false)},
          {"depth first, last operand first", DepthFirst(graph, true)}};
}

}  // namespace mallocmuzero::reorder
