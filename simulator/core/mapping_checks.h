// Checks of a Mapping message from outside against its program.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_MAPPING_CHECKS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_MAPPING_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// Checks the indices and the order in a mapping of `program`. Ignores header and program_sha256.
// InvalidArgument, with the first wrong field, prefixed by `field`, and what would be right.
absl::Status CheckMappingIndices(const v1::Mapping& mapping, const v1::Program& program,
                                 absl::string_view field);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_MAPPING_CHECKS_H_
