// Copies that a compiled program waits for, and options that start them earlier.

#ifndef MALLOCMUZERO_SIMULATOR_OVERRIDES_LATE_COPIES_H_
#define MALLOCMUZERO_SIMULATOR_OVERRIDES_LATE_COPIES_H_

#include "mallocmuzero/v1/handover_report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Adds late_copies to the report of a placement that was read back. The compiler starts a copy as
// late as its own estimate of the free bandwidth allows. Where that is too late the program waits.
void AddLateCopies(const Program& program, const Mapping& read_back, v1::ReadBackReport& report);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_OVERRIDES_LATE_COPIES_H_
