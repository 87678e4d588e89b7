#include "optimize/checked_place.h"

#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "simulator/place_check/check_placed.h"

namespace mallocmuzero {

absl::StatusOr<place::PlacedModule> PlaceAndCheck(const Program& program, const Mapping& mapping,
                                                  const xla::HloModuleProto& all_hbm,
                                                  const std::string& path) {
  absl::StatusOr<place::PlacedModule> placed = place::PlaceModule(program, mapping, all_hbm, path);
  if (!placed.ok()) return placed;
  PlacedCheckOptions options;
  options.fast_memory_space = program.hardware().fast_memory_space();
  // The compiler may let a result reuse the bytes of an operand that ends there, so only the
  // compiler can tell whether the module fits.
  options.capacity_bytes = std::numeric_limits<int64_t>::max();
  options.alignment_bytes = program.hardware().fast_memory_alignment_bytes();
  const PlacedCheck check = ExaminePlaced(all_hbm, placed->module, options);
  if (check.violations.empty()) return placed;
  return absl::InternalError(absl::StrCat(
      path, ": the placed module breaks the rule ", PlacedRuleName(check.violations[0].rule), ": ",
      check.violations[0].message, " (violation 1 of ", check.violations.size(), ")"));
}

}  // namespace mallocmuzero
