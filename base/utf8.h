// Makes text from outside valid UTF-8, as the strings of a message must be, and shortens it.

#ifndef MALLOCMUZERO_BASE_UTF8_H_
#define MALLOCMUZERO_BASE_UTF8_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Number of bytes of the first character of `text`, which must not be empty; 0 if it is not
// well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates.
size_t Utf8CharacterSize(absl::string_view text);

// True if the byte continues a character of UTF-8, false if it begins one.
constexpr bool ContinuesUtf8Character(char byte) { return (byte & 0xC0) == 0x80; }

// True if `text` consists only of well-formed UTF-8.
bool IsUtf8(absl::string_view text);

// `text` with a '?' in place of each byte that is not part of well-formed UTF-8, so that positions
// do not change.
std::string ToUtf8(std::string text);

// `text` with spaces in place of control characters: those of ASCII that are not in `kept`, and
// U+0080 to U+009F. In a terminal they could do harm. The number of bytes does not change.
std::string WithoutControls(std::string text, absl::string_view kept = "");

// `text` if it has at most `limit` bytes (5 or more); else its beginning and its end with ".."
// between, because HLO names differ at their ends. A character that would be cut is left out.
std::string Abridge(absl::string_view text, size_t limit);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_UTF8_H_
