// Shortens messages of the compiler to one line.

#ifndef MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_
#define MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// The first paragraph of an error message, in one line of at most 1000 bytes. Tables of buffers or
// a stack follow it in the message.
std::string FirstParagraph(absl::string_view message);

// The reason of an abort, from the stderr of the compiler. It is the last check that failed,
// without time and thread. If none failed, it is the last line that is no part of a stack. At most
// 1000 bytes, empty if there is no such line.
std::string ReasonOfAbort(absl::string_view log);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_
