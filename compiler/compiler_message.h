// Shortens messages of the compiler to one line.

#ifndef MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_
#define MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace mallocmuzero {

// The first paragraph of an error message, as one line of at most 1000 bytes. The rest of such a
// message is tables of buffers or a stack.
std::string FirstParagraph(absl::string_view message);

// The reason of an abort, from the compiler's stderr: the last check that failed, without time and
// thread. If no check failed, it is the last line that is not part of a stack. At most 1000 bytes;
// empty if there is no such line.
std::string ReasonOfAbort(absl::string_view log);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_COMPILER_COMPILER_MESSAGE_H_
