// Turns what LibTorch throws into errors.

#ifndef MALLOCMUZERO_MODEL_ON_DEVICE_H_
#define MALLOCMUZERO_MODEL_ON_DEVICE_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Calls `compute`. LibTorch throws what goes wrong on a device: ResourceExhausted if the device has
// too little memory, Internal for anything else that was thrown, such as a GPU that has failed. The
// message names `what` was to be computed, such as "the new weights". `compute` may have done a
// part of its work then.
absl::Status OnDevice(absl::string_view what, absl::FunctionRef<void()> compute);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_ON_DEVICE_H_
