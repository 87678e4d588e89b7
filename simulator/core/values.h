// The values that a buffer holds one after the other.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_VALUES_H_
#define MALLOCMUZERO_SIMULATOR_CORE_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// One write into a buffer and all accesses up to the next write.
struct Value {
  BufferIndex buffer = 0;

  // Indices into Program::accesses, ascending, at least one. They point into the program.
  absl::Span<const AccessIndex> accesses;

  // The first access makes the value. False if the value comes from elsewhere: a program input, a
  // constant, or a loop that hands it to its body.
  bool has_definition = false;
};

// The two meanings of an update, which reads a buffer and writes it in place.
enum class UpdateMeaning : uint8_t {
  // The update changes the value, and the value goes on. The game moves values between memories,
  // and an update leaves a value where it is.
  kContinuesValue,
  // The update makes a new value. The compiler decides about values in this sense; the update's
  // reading of the old value is not among the old value's accesses.
  kMakesValue,
};

// All values of a program, by buffer and time.
IndexVector<ValueIndex, Value> FindValues(const Program& program,
                                          UpdateMeaning update = UpdateMeaning::kContinuesValue);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_VALUES_H_
