#include "env/observation_layout.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "env/action.h"

namespace mallocmuzero {
namespace {

using Names = std::vector<std::string>;

Names MemoryNames() { return {"taken", "held"}; }

Names IncumbentNames() { return {"is_shown", "lead", "lead_sign", "window_left"}; }

Names BandwidthNames() {
  return {"spare_before", "fits_before", "busy_before", "idle_after", "fits_after"};
}

Names DecisionNames() {
  return {"may_copy",   "may_not_copy",    "may_drop",    "copy_distance", "copy_has_start",
          "saving_now", "saving_with_all", "fast_so_far", "last_was_fast"};
}

Names AccessNames() {
  return {"is_read",
          "is_write",
          "is_update",
          "bytes",
          "bytes_linear",
          "traffic",
          "saving",
          "saving_last",
          "saving_later",
          "instruction_cycles",
          "executions",
          "since_last",
          "is_first",
          "until_next",
          "is_last",
          "remaining",
          "gap_before",
          "gap_after",
          "live_in",
          "live_out",
          "must_reach_hbm",
          "keep_span",
          "tensors",
          "loop_depth",
          "from_outside",
          "carried",
          "feeds_group",
          "may_take_over",
          "prefetched",
          "siblings",
          "hold_price",
          "hold_load",
          "next_hold_price",
          "next_hold_load",
          "is_there",
          "in_fast_memory",
          "hbm_current",
          "hbm_pending",
          "ahead",
          "same_buffer",
          "same_instruction",
          "incumbent_fast"};
}

Names ActionNames() { return {"copy", "no_copy", "drop"}; }

Names RecentNames() { return {"is_there", "fast", "is_read", "bytes", "saving"}; }

Names ProgramNames() {
  return {"progress",     "return",         "initial_return",  "stalls",       "taken_now",
          "pending_out",  "default_return", "all_fast_return", "instructions", "accesses",
          "buffer_bytes", "traffic_times",  "loop_share",      "fill_time",    "read_rate",
          "write_rate",   "flops_per_byte"};
}

void AddBlock(v1::ObservationSpec& spec, const char* name, std::initializer_list<size_t> shape,
              const Names& features) {
  v1::ObservationSpec::Block& block = *spec.add_blocks();
  block.set_name(name);
  block.set_offset(spec.size());
  size_t size = 1;
  for (const size_t dimension : shape) {
    block.add_shape(dimension);
    size *= dimension;
  }
  for (const std::string& feature : features) block.add_features(feature);
  spec.set_size(spec.size() + size);
}

}  // namespace

v1::ObservationSpec MakeObservationSpec() {
  namespace layout = observation;
  v1::ObservationSpec spec;
  spec.set_version(kObservationVersion);
  spec.set_action_count(kActionCount);
  AddBlock(spec, "memory", {layout::kMemoryChannels, layout::kTimes, layout::kAddressBins},
           MemoryNames());
  AddBlock(spec, "incumbent", {layout::kIncumbentFeatures}, IncumbentNames());
  AddBlock(spec, "bandwidth", {layout::kSpans, layout::kBandwidthFeatures}, BandwidthNames());
  AddBlock(spec, "decision", {layout::kDecisionFeatures}, DecisionNames());
  AddBlock(spec, "accesses", {1 + layout::kWindow, layout::kAccessFeatures}, AccessNames());
  AddBlock(spec, "actions", {layout::kLastActions, kActionCount}, ActionNames());
  AddBlock(spec, "recent", {layout::kRecent, layout::kRecentFeatures}, RecentNames());
  AddBlock(spec, "program", {layout::kProgramFeatures}, ProgramNames());
  return spec;
}

}  // namespace mallocmuzero
