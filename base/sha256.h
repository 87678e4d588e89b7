// SHA-256.

#ifndef MALLOCMUZERO_BASE_SHA256_H_
#define MALLOCMUZERO_BASE_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// SHA-256 of `bytes`: 32 raw bytes.
std::string Sha256(absl::string_view bytes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_SHA256_H_
