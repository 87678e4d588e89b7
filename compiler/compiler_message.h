// What the compiler says, as one line.

#ifndef MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_
#define MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// The first paragraph of an error message in one line of at most 1000 bytes: what follows it are
// tables of buffers, or a stack.
std::string FirstParagraph(absl::string_view message);

// The reason of an abort in what the compiler wrote to stderr: the last check that failed, without
// time and thread, else the last line that is no part of a stack; at most 1000 bytes, empty if
// there is none.
std::string ReasonOfAbort(absl::string_view log);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_
