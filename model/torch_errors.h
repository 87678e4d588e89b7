// Messages of LibTorch's exceptions.

#ifndef MALLOCMUZERO_MODEL_TORCH_ERRORS_H_
#define MALLOCMUZERO_MODEL_TORCH_ERRORS_H_

#include <exception>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// The message without the stack trace, which is in its other lines. It lives as long as the
// exception.
inline absl::string_view FirstLine(const std::exception& error) {
  const absl::string_view message = error.what();
  return message.substr(0, message.find('\n'));
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_MODEL_TORCH_ERRORS_H_
