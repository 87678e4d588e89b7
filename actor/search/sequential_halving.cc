#include "actor/search/sequential_halving.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>

namespace mallocmuzero {
namespace {

void FillRow(uint32_t considered, uint32_t simulations, float* row) {
  uint32_t filled = 0;
  if (considered == 1) {
    for (; filled < simulations; ++filled) row[filled] = static_cast<float>(filled);
    return;
  }
  const uint64_t phases = std::bit_width(considered - 1);  // log2, rounded up
  // The actions still considered have all been visited equally often.
  uint32_t visits = 0;
  for (uint32_t left = considered; filled < simulations; left = std::max(2U, left / 2)) {
    const uint64_t rounds = std::max<uint64_t>(1, simulations / (phases * left));
    for (uint64_t round = 0; round < rounds && filled < simulations; ++round, ++visits) {
      const uint32_t end = filled + std::min(left, simulations - filled);
      for (; filled < end; ++filled) row[filled] = static_cast<float>(visits);
    }
  }
}

}  // namespace

ConsideredVisits::ConsideredVisits(uint32_t max_considered, uint32_t simulations)
    : max_considered_(max_considered),
      simulations_(simulations),
      counts_(size_t{max_considered} * simulations) {
  assert(max_considered > 0);
  for (uint32_t considered = 1; considered <= max_considered; ++considered) {
    FillRow(considered, simulations, counts_.data() + (size_t{considered} - 1) * simulations);
  }
}

const float* ConsideredVisits::Row(uint32_t actions) const {
  assert(actions > 0);
  const uint32_t considered = std::min(actions, max_considered_);
  return counts_.data() + (size_t{considered} - 1) * simulations_;
}

}  // namespace mallocmuzero
