// Places mappings of small programs and checks the placed modules.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_TEST_UTIL_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_TEST_UTIL_H_

#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "simulator/hlo/print_module.h"
#include "simulator/place/place.h"
#include "simulator/place/testing/placeable.h"
#include "simulator/place_check/check_placed.h"
#include "simulator/place_check/testing/cases.h"
#include "simulator/place_check/testing/module_text.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::place {

inline Placeable ImportOriginal(const place_check::PlacedCase& placed_case) {
  return Import(place_check::ModuleFromText(placed_case.original));
}

inline std::string Text(const xla::HloModuleProto& module) { return *hlo::PrintModule(module); }

// The text of the placed module, which the checker must accept.
inline std::string PlaceUnvalidated(const Placeable& placeable, const Mapping& mapping) {
  const absl::StatusOr<PlacedModule> placed =
      PlaceModule(placeable.program, mapping, placeable.module, placeable.path);
  if (!placed.ok()) {
    ADD_FAILURE() << placed.status();
    return "";
  }
  const PlacedCheckOptions options{.capacity_bytes = 1 << 30};
  for (const PlacedViolation& violation :
       ExaminePlaced(placeable.module, placed->module, options).violations) {
    ADD_FAILURE() << violation.message;
  }
  return Text(placed->module);
}

// As PlaceUnvalidated; the mapping must be valid.
inline std::string Place(const Placeable& placeable, const Mapping& mapping) {
  for (const Violation& violation : Validate(placeable.program, mapping)) {
    ADD_FAILURE() << violation.message;
  }
  return PlaceUnvalidated(placeable, mapping);
}

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_TEST_UTIL_H_
