#include "model/on_device.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"
#include "model/torch_errors.h"

namespace mallocmuzero {
namespace {

absl::Status TooLittleMemory(absl::string_view what, const std::exception& error) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the device has too little memory for ", what, ": ", FirstLine(error)));
}

}  // namespace

absl::Status OnDevice(absl::string_view what, absl::FunctionRef<void()> compute) {
  try {
    compute();
    return absl::OkStatus();
  } catch (const c10::OutOfMemoryError& error) {
    return TooLittleMemory(what, error);
  } catch (const std::bad_alloc& error) {
    return TooLittleMemory(what, error);
  } catch (const std::exception& error) {
    return absl::InternalError(
        absl::StrCat("the device cannot compute ", what, ": ", FirstLine(error)));
  }
}

}  // namespace mallocmuzero
