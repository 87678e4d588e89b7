// The rules about times and addresses of intervals, which can be checked without following values.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_GEOMETRY_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_GEOMETRY_H_

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/validate/report.h"

namespace mallocmuzero::validate {

// Checks kAlignment to kCarriedGroupOffset, and kAmbiguousInterval at markers.
void CheckGeometry(const Program& program, const Mapping& mapping, Report& report);

}  // namespace mallocmuzero::validate

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_GEOMETRY_H_
