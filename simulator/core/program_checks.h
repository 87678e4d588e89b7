// Checks of a Program message from outside, one for each part; used by Program::FromProto.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// Largest size of one tensor, access or slice of traffic, and of any count of executions: sums over
// a program stay exact.
inline constexpr int64_t kMaxBytes = int64_t{1} << 50;
inline constexpr int64_t kMaxExecutions = int64_t{1} << 53;

// Everything but the latency table (LatencyTable::FromProto checks that). InvalidArgument names the
// first field that is wrong and what would be right.
absl::Status CheckProgram(const v1::Program& program);

// Checks the indices and the order of a mapping of `program`; fields start with `field`. Ignores
// header and program_sha256.
absl::Status CheckMappingIndices(const v1::Mapping& mapping, const v1::Program& program,
                                 absl::string_view field);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_
