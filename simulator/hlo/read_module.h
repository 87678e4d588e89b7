// Reads a compiled module from the bytes of a file, which are HLO text or one of XLA's messages.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_READ_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_READ_MODULE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::hlo {

// The HLO text for `bytes`. They may be HLO text already, a serialised xla.HloModuleProto, or a
// message whose first field is one (HloProto, HloModuleProtoWithConfig). Bytes count as text if
// they begin with the word HloModule behind blanks and comments, or if they cannot be a message;
// text is returned unchanged.
//
// InvalidArgument, one line that begins with `file_name`, if a message is damaged or PrintModule
// refuses it.
absl::StatusOr<std::string> HloTextOf(std::string bytes, absl::string_view file_name);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_READ_MODULE_H_
