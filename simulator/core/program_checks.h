// Checks of a Program message from outside, one for each part; used by Program::FromProto.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_

#include "absl/status/status.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// Everything but the latency table (LatencyTable::FromProto checks that). InvalidArgument names the
// first field that is wrong and what would be right.
absl::Status CheckProgram(const v1::Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_
