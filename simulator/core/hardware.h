// Descriptions of chips: the built-in ones of hardware/*.textproto, and those in a user's file.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_HARDWARE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_HARDWARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/hardware.pb.h"

namespace mallocmuzero {

// `bytes` rounded up to a multiple of `alignment`, which must be positive. The caller makes sure
// that the sum of both fits into 64 bits.
inline int64_t RoundUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// The names that LoadHardware knows without a file, sorted: tpu7x, tpu_v4, tpu_v4i, tpu_v5e,
// tpu_v5p, tpu_v6e.
std::vector<std::string> BuiltInHardwareNames();

// The built-in chip of that name, or, if there is none, the checked v1.Hardware message in the file
// at that path. InvalidArgument, NotFound or the error of reading the file.
absl::StatusOr<v1::Hardware> LoadHardware(const std::string& name_or_path);

// InvalidArgument, with `source` and the field in the message, if a rate or a size is not positive
// and finite, the alignment is not a power of two, the memory space is not between 1 and 255, or
// the name is missing.
absl::Status CheckHardware(const v1::Hardware& hardware, absl::string_view source);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_HARDWARE_H_
