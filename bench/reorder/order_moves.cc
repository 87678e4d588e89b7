#include "bench/reorder/order_moves.h"

#include <algorithm>
#include <cmath>

namespace mallocmuzero::reorder {
namespace {

// Probability of one more change.
constexpr double kMore = 0.3;

// Most units that move together in a row, and longest stretch of units from which a chain is taken.
constexpr uint32_t kLongestRow = 16;
constexpr uint32_t kLongestStretch = 200;

}  // namespace

OrderMoves::OrderMoves(const DependencyGraph& graph, const UnitModel& model)
    : graph_(graph), model_(model) {
  double sum = 0;
  for (const Temporary& temporary : model.temporaries()) {
    // The weight is the square root of the size, so that not only the few largest temporaries are
    // drawn.
    sum += temporary.gains ? std::sqrt(static_cast<double>(temporary.bytes)) : 0;
    cumulative_bytes_.push_back(sum);
  }
}

std::pair<int32_t, int32_t> OrderMoves::Range(const std::vector<int32_t>& places,
                                              int32_t unit) const {
  int32_t first = 0;
  int32_t last = graph_.size() - 1;
  for (const int32_t p : graph_.units[unit].predecessors) first = std::max(first, places[p] + 1);
  for (const int32_t s : graph_.units[unit].successors) last = std::min(last, places[s] - 1);
  return {first, last};
}

void OrderMoves::MoveUnit(Order& order, int32_t from, int32_t to) const {
  const auto at = order.begin();
  if (from < to) std::rotate(at + from, at + from + 1, at + to + 1);
  if (to < from) std::rotate(at + to, at + from, at + from + 1);
}

void OrderMoves::MoveAnywhere(Order& order, Random& random) const {
  const std::vector<int32_t> places = Places(order);
  const int32_t unit = random.Below(order.size());
  const auto [first, last] = Range(places, unit);
  const uint32_t count = last - first + 1;
  const int32_t steps = random.Below(count);
  MoveUnit(order, places[unit], first + steps);
}

void OrderMoves::ShortenLife(Order& order, Random& random) const {
  if (cumulative_bytes_.empty() || cumulative_bytes_.back() <= 0) return;
  const std::vector<int32_t> places = Places(order);
  const auto drawn = std::upper_bound(cumulative_bytes_.begin(), cumulative_bytes_.end(),
                                      random.Unit() * cumulative_bytes_.back());
  const size_t t =
      std::min<size_t>(drawn - cumulative_bytes_.begin(), cumulative_bytes_.size() - 1);
  std::vector<int32_t> users = model_.temporaries()[t].units;
  std::sort(users.begin(), users.end(),
            [&](int32_t a, int32_t b) { return places[a] < places[b]; });
  if (random.Below(2) == 0) {
    MoveUnit(order, places[users.front()], Range(places, users.front()).second);
  } else {
    MoveUnit(order, places[users.back()], Range(places, users.back()).first);
  }
}

void OrderMoves::MoveRow(Order& order, Random& random) const {
  const uint32_t size = order.size();
  const uint32_t length = 2 + random.Below(std::min(kLongestRow, size / 2));
  if (length >= size) return;
  const uint32_t begin = random.Below(size - length + 1);
  const uint32_t end = begin + length;
  const std::vector<int32_t> places = Places(order);
  const auto in_row = [&](int32_t unit) {
    const uint32_t place = places[unit];
    return place >= begin && place < end;
  };
  const auto at = order.begin();
  if (random.Below(2) == 0) {
    uint32_t room = end;  // the first unit behind the row that needs the row
    for (; room < size; ++room) {
      const std::vector<int32_t>& before = graph_.units[order[room]].predecessors;
      if (std::any_of(before.begin(), before.end(), in_row)) break;
    }
    std::rotate(at + begin, at + end, at + end + random.Below(room - end + 1));
  } else {
    uint32_t room = begin;  // just behind the last unit before the row that the row needs
    for (; room > 0; --room) {
      const std::vector<int32_t>& after = graph_.units[order[room - 1]].successors;
      if (std::any_of(after.begin(), after.end(), in_row)) break;
    }
    std::rotate(at + begin - random.Below(begin - room + 1), at + begin, at + end);
  }
}

void OrderMoves::MoveChain(Order& order, Random& random) const {
  const uint32_t size = order.size();
  const uint32_t place = random.Below(size);
  const uint32_t length = 2 + random.Below(std::min(kLongestStretch, size));
  const bool forward = random.Below(2) == 0;
  const uint32_t begin = forward ? place - std::min(place, length) : place;
  const uint32_t end = forward ? place + 1 : std::min(size, place + length);
  std::vector<uint8_t> moves(size, 0);  // for each unit: 1 if it is part of the chain
  moves[order[place]] = 1;
  const auto belongs = [&](const std::vector<int32_t>& neighbours) {
    return std::any_of(neighbours.begin(), neighbours.end(),
                       [&](int32_t other) { return moves[other] != 0; });
  };
  if (forward) {
    for (uint32_t k = place; k-- > begin;) {
      moves[order[k]] = belongs(graph_.units[order[k]].successors) ? 1 : 0;
    }
  } else {
    for (uint32_t k = place + 1; k < end; ++k) {
      moves[order[k]] = belongs(graph_.units[order[k]].predecessors) ? 1 : 0;
    }
  }
  std::stable_partition(order.begin() + begin, order.begin() + end,
                        [&](int32_t unit) { return (moves[unit] != 0) == forward; });
}

void OrderMoves::Change(Order& order, Random& random) const {
  if (order.size() < 2) return;
  do {
    switch (random.Below(5)) {
      case 0:
        MoveAnywhere(order, random);
        break;
      case 1:
      case 2:
        ShortenLife(order, random);
        break;
      case 3:
        MoveRow(order, random);
        break;
      default:
        MoveChain(order, random);
        break;
    }
  } while (random.Unit() < kMore);
}

}  // namespace mallocmuzero::reorder
