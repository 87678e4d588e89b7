// Places a mapping into its module and checks the result independently.

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

// Does what place::PlaceModule does, with its errors. Also returns Internal, with the first broken
// rule, if ExaminePlaced finds that the module would compute something else. Does not check whether
// the module fits into fast memory; the compiler does.
absl::StatusOr<place::PlacedModule> PlaceAndCheck(const Program& program, const Mapping& mapping,
                                                  const xla::HloModuleProto& all_hbm,
                                                  const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_CHECKED_PLACE_H_
