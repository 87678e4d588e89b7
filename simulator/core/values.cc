#include "simulator/core/values.h"

namespace mallocmuzero {

IndexVector<ValueIndex, Value> FindValues(const Program& program, UpdateMeaning update) {
  const auto makes_value = [&](AccessIndex access) {
    const AccessKind kind = program.accesses()[access].kind;
    return kind == AccessKind::kWrite ||
           (kind == AccessKind::kUpdate && update == UpdateMeaning::kMakesValue);
  };
  IndexVector<ValueIndex, Value> values;
  for (const BufferIndex b : program.buffers().indices()) {
    const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(b);
    size_t first = 0;
    for (size_t k = 1; k <= accesses.size(); ++k) {
      if (k < accesses.size() && !makes_value(accesses[k])) continue;
      values.push_back({.buffer = b,
                        .accesses = accesses.subspan(first, k - first),
                        .has_definition = makes_value(accesses[first])});
      first = k;
    }
  }
  return values;
}

}  // namespace mallocmuzero
