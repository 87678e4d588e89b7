// A mapping written into its module, and the module judged by the independent check.

#ifndef MALLOCMUZERO_OPTIMIZE_CHECKED_PLACE_H_
#define MALLOCMUZERO_OPTIMIZE_CHECKED_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/place/place.h"

namespace mallocmuzero {

// As place::PlaceModule. Also an error, Internal with the first broken rule, if CheckPlaced does
// not accept the module: it would compute something else. Whether the module fits into fast memory
// is left to the compiler.
absl::StatusOr<place::PlacedModule> PlaceAndCheck(const Program& program, const Mapping& mapping,
                                                  const xla::HloModuleProto& all_hbm,
                                                  const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_CHECKED_PLACE_H_
