// Text from outside as UTF-8, which is what the strings of a message must be.

#ifndef MALLOCMUZERO_BASE_UTF8_H_
#define MALLOCMUZERO_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Bytes of the character that `text`, which is not empty, starts with; 0 if that is not well-formed
// UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates.
size_t Utf8CharacterSize(absl::string_view text);

// True if `text` is nothing but such characters.
bool IsUtf8(absl::string_view text);

// `text` with a '?' for each byte that is no part of well-formed UTF-8: positions stay as they are.
std::string ToUtf8(std::string text);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_UTF8_H_
