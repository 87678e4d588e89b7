// Chips: the built-in ones of hardware/*.textproto and those of a user's file.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_HARDWARE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_HARDWARE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/hardware.pb.h"

namespace mallocmuzero {

// Names LoadHardware knows without a file, ascending: tpu_v4, tpu_v4i, tpu_v5e, tpu_v5p, tpu_v6e.
std::vector<std::string> BuiltInHardwareNames();

// The built-in chip of that name, or else the message in the file of that path.
absl::StatusOr<v1::Hardware> LoadHardware(const std::string& name_or_path);

// InvalidArgument naming `source` and the field if a rate or size is not positive and finite, the
// alignment is not a power of two, the memory space is not between 1 and 255, or there is no name.
absl::Status CheckHardware(const v1::Hardware& hardware, absl::string_view source);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_HARDWARE_H_
