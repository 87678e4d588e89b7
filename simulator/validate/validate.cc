#include "simulator/validate/validate.h"

#include "simulator/validate/geometry.h"
#include "simulator/validate/report.h"
#include "simulator/validate/value_walk.h"
#include "simulator/validate/well_formed.h"

namespace mallocmuzero {

absl::string_view RuleName(Rule rule) {
  switch (rule) {
    case Rule::kAccessCount:
      return "access_count";
    case Rule::kUnknownBuffer:
      return "unknown_buffer";
    case Rule::kIntervalBounds:
      return "interval_bounds";
    case Rule::kCopyPositions:
      return "copy_positions";
    case Rule::kIntervalOrder:
      return "interval_order";
    case Rule::kAlignment:
      return "alignment";
    case Rule::kCapacity:
      return "capacity";
    case Rule::kOverlap:
      return "overlap";
    case Rule::kLiveRange:
      return "live_range";
    case Rule::kPinnedToHbm:
      return "pinned_to_hbm";
    case Rule::kCrossProgramPrefetch:
      return "cross_program_prefetch";
    case Rule::kCopyAcrossLoop:
      return "copy_across_loop";
    case Rule::kMoveInFlight:
      return "move_in_flight";
    case Rule::kCarriedGroupSpace:
      return "carried_group_space";
    case Rule::kCarriedGroupOffset:
      return "carried_group_offset";
    case Rule::kNoInterval:
      return "no_interval";
    case Rule::kAmbiguousInterval:
      return "ambiguous_interval";
    case Rule::kFastMemoryStale:
      return "fast_memory_stale";
    case Rule::kCopyInPending:
      return "copy_in_pending";
    case Rule::kHbmStale:
      return "hbm_stale";
    case Rule::kCopySourceStale:
      return "copy_source_stale";
    case Rule::kWriteDuringCopy:
      return "write_during_copy";
    case Rule::kCarriedValueLost:
      return "carried_value_lost";
    case Rule::kLiveOutNotInHbm:
      return "live_out_not_in_hbm";
  }
  return "unknown";
}

std::vector<Violation> Validate(const Program& program, const Mapping& mapping) {
  validate::Report report(program, mapping);
  validate::CheckWellFormed(program, mapping, report);
  if (report.empty()) {
    validate::CheckGeometry(program, mapping, report);
    validate::ValueWalk(program, mapping, report).Run();
  }
  return report.Take();
}

}  // namespace mallocmuzero
