// Checks of a Program message that comes from outside. Program::FromProto calls them.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_

#include "absl/status/status.h"
#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {

// Checks everything but the latency table, which LatencyTable::FromProto checks. InvalidArgument,
// with the first field that is wrong and what would be right.
absl::Status CheckProgram(const v1::Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PROGRAM_CHECKS_H_
