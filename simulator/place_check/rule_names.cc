#include "simulator/place_check/check_placed.h"

namespace mallocmuzero {

absl::string_view PlacedRuleName(PlacedRule rule) {
  switch (rule) {
    case PlacedRule::kMalformedOriginal:
      return "malformed_original";
    case PlacedRule::kMalformedPlaced:
      return "malformed_placed";
    case PlacedRule::kModuleChanged:
      return "module_changed";
    case PlacedRule::kDropped:
      return "dropped";
    case PlacedRule::kExtraInstruction:
      return "extra_instruction";
    case PlacedRule::kAttributes:
      return "attributes";
    case PlacedRule::kShapeChanged:
      return "shape_changed";
    case PlacedRule::kCalledComputation:
      return "called_computation";
    case PlacedRule::kOrderChanged:
      return "order_changed";
    case PlacedRule::kControlDependency:
      return "control_dependency";
    case PlacedRule::kOperandValue:
      return "operand_value";
    case PlacedRule::kRootValue:
      return "root_value";
    case PlacedRule::kCarriedValue:
      return "carried_value";
    case PlacedRule::kSchedule:
      return "schedule";
    case PlacedRule::kScheduleOrder:
      return "schedule_order";
    case PlacedRule::kCopyPair:
      return "copy_pair";
    case PlacedRule::kCopyShape:
      return "copy_shape";
    case PlacedRule::kForwardedShape:
      return "forwarded_shape";
    case PlacedRule::kCallShape:
      return "call_shape";
    case PlacedRule::kFusedSpace:
      return "fused_space";
    case PlacedRule::kStatedShape:
      return "stated_shape";
    case PlacedRule::kSpace:
      return "space";
    case PlacedRule::kEntrySpace:
      return "entry_space";
    case PlacedRule::kAliasSpace:
      return "alias_space";
    case PlacedRule::kStaleRead:
      return "stale_read";
    case PlacedRule::kReadOnly:
      return "read_only";
    case PlacedRule::kWriteDuringCopy:
      return "write_during_copy";
    case PlacedRule::kMoveInFlight:
      return "move_in_flight";
    case PlacedRule::kCapacity:
      return "capacity";
    case PlacedRule::kCrossProgramPrefetch:
      return "cross_program_prefetch";
  }
  return "unknown";
}

}  // namespace mallocmuzero
