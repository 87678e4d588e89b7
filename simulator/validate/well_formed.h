// Checks the form of a mapping: indices exist, and copies are in order.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_WELL_FORMED_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_WELL_FORMED_H_

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/validate/report.h"

namespace mallocmuzero::validate {

// Checks kAccessCount to kIntervalOrder. All other checks require that none of these is broken.
void CheckWellFormed(const Program& program, const Mapping& mapping, Report& report);

}  // namespace mallocmuzero::validate

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_WELL_FORMED_H_
