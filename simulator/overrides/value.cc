#include "simulator/overrides/value.h"

namespace mallocmuzero {

std::vector<BufferValue> FindBufferValues(const Program& program) {
  constexpr int64_t kNone = -1;
  std::vector<BufferValue> values;
  std::vector<int64_t> current(program.buffer_count(), kNone);  // by buffer: into `values`
  for (uint32_t a = 0; a < program.access_count(); ++a) {
    const Access& access = program.accesses()[a];
    const bool defines = access.kind != AccessKind::kRead;
    int64_t& value = current[access.buffer];
    if (defines || value == kNone) {
      value = static_cast<int64_t>(values.size());
      values.push_back({.buffer = access.buffer, .has_definition = defines});
    }
    values[value].accesses.push_back(a);
  }
  return values;
}

}  // namespace mallocmuzero
