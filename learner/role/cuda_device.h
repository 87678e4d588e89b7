// Gives each process of a learner a CUDA device of its own.

#ifndef MALLOCMUZERO_LEARNER_ROLE_CUDA_DEVICE_H_
#define MALLOCMUZERO_LEARNER_ROLE_CUDA_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero {

// The value of CUDA_VISIBLE_DEVICES that shows a process only its device number `index`.
// `inherited` is the variable's present value, a list of numbers or names from which `index`
// selects; empty: all devices of the machine. InvalidArgument if the list is shorter.
absl::StatusOr<std::string> VisibleDevice(uint32_t index, absl::string_view inherited);

// Sets CUDA_VISIBLE_DEVICES to the device that learner.devices has for this rank, and changes
// nothing if it is empty. Call it before the first call of CUDA, while the process has one thread.
// An error names the field.
absl::Status ChooseCudaDevice(const v1::LearnerRole& learner, uint32_t rank);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_CUDA_DEVICE_H_
