// The values that a buffer holds one after the other: what the compiler decides about.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_VALUE_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_VALUE_H_

#include <cstdint>
#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero {

// What one write puts into a buffer, until the next write.
struct BufferValue {
  uint32_t buffer = 0;

  // The access that writes it comes first unless the value comes from elsewhere: a program input, a
  // constant, what a loop hands to its body. An in-place update writes a new value; its reading
  // the old one is not listed with that.
  bool has_definition = false;

  // Indices into Program::accesses, ascending, at least one.
  std::vector<uint32_t> accesses;
};

// All values of all buffers, in the order of their first access.
std::vector<BufferValue> FindBufferValues(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_VALUE_H_
