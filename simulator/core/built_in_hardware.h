// The text protos of hardware/, compiled into the binary so that it runs without the source tree.
// CMake generates the definition from the files (built_in_hardware.cc.in).

#ifndef MALLOCMUZERO_SIMULATOR_CORE_BUILT_IN_HARDWARE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_BUILT_IN_HARDWARE_H_

#include "absl/types/span.h"

namespace mallocmuzero {

// One file of hardware/.
struct BuiltInHardware {
  const char* name;       // file name without extension
  const char* textproto;  // content of the file
};

// Sorted by name.
extern const absl::Span<const BuiltInHardware> kBuiltInHardware;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_BUILT_IN_HARDWARE_H_
