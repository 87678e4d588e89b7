// The order in which copies that are queued at one point move.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_COPY_ORDER_H_
#define MALLOCMUZERO_SIMULATOR_CORE_COPY_ORDER_H_

#include <algorithm>

#include "absl/types/span.h"

namespace mallocmuzero {

// Sorts copies that are queued just before one instruction. The one that is needed first comes
// first. Copies that are needed at the same time keep their order, which is that of the intervals.
// `done_of` returns the instruction just before which a copy must be done.
template <typename Copy, typename DoneOf>
void SortQueued(absl::Span<Copy> copies, const DoneOf& done_of) {
  if (copies.size() < 2) return;
  std::stable_sort(copies.begin(), copies.end(),
                   [&](const Copy& a, const Copy& b) { return done_of(a) < done_of(b); });
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_COPY_ORDER_H_
