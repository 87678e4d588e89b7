// The text protos of hardware/, part of the program so that it runs without its source tree. The
// definition is generated from the files by CMake (built_in_hardware.cc.in).

#ifndef MALLOCMUZERO_SIMULATOR_CORE_BUILT_IN_HARDWARE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_BUILT_IN_HARDWARE_H_

#include "absl/types/span.h"

namespace mallocmuzero {

struct BuiltInHardware {
  const char* name;       // file name without extension
  const char* textproto;  // content of the file
};

// Ascending by name.
extern const absl::Span<const BuiltInHardware> kBuiltInHardware;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_BUILT_IN_HARDWARE_H_
