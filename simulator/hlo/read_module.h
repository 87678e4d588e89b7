// Reads a compiled module from the bytes of a file: HLO text, or XLA's messages.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_READ_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_READ_MODULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::hlo {

// HLO text of `bytes`, which are text already, or a serialised xla.HloModuleProto, or a message
// whose first field is one (HloProto, HloModuleProtoWithConfig). Text is what begins with the word
// HloModule behind blanks and comments, and what cannot be a message; it is returned as it is.
// InvalidArgument, one line that begins with `file_name`, if a message is damaged or what
// PrintModule refuses.
absl::StatusOr<std::string> HloTextOf(std::string bytes, absl::string_view file_name);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_READ_MODULE_H_
