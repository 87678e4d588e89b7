#include "simulator/validate/carried_place.h"

namespace mallocmuzero::validate {
namespace {

// Those of the intervals whose [first, last] contains `instruction`.
std::vector<size_t> IntervalsContaining(const Mapping& mapping,
                                        const std::vector<size_t>& intervals,
                                        InstructionIndex instruction) {
  std::vector<size_t> found;
  for (const size_t k : intervals) {
    const Interval& it = mapping.intervals[k];
    if (it.first <= instruction && instruction <= it.last) found.push_back(k);
  }
  return found;
}

// True if one of the intervals takes over the value at the marker. If the same buffer also gives
// the value, an interval that ends at the marker does not count.
bool Receives(const Mapping& mapping, const std::vector<size_t>& intervals, InstructionIndex marker,
              bool also_gives) {
  for (const size_t k : intervals) {
    if (!also_gives || mapping.intervals[k].last > marker) return true;
  }
  return false;
}

}  // namespace

IntervalsOfBuffers ListIntervals(const Program& program, const Mapping& mapping) {
  IntervalsOfBuffers intervals_of(program.buffer_count());
  for (size_t k = 0; k < mapping.intervals.size(); ++k) {
    intervals_of[mapping.intervals[k].buffer].push_back(k);
  }
  return intervals_of;
}

CarriedPlace PlaceOfGroup(const Program& program, const Mapping& mapping,
                          const IntervalsOfBuffers& intervals_of, const CarriedGroup& group) {
  const Loop& loop = program.loops()[group.loop];
  CarriedPlace place;
  place.initial = IntervalsContaining(mapping, intervals_of[group.initial_buffer], loop.begin);
  place.parameter = IntervalsContaining(mapping, intervals_of[group.parameter_buffer], loop.begin);
  place.root = IntervalsContaining(mapping, intervals_of[group.root_buffer], loop.end);
  place.result = IntervalsContaining(mapping, intervals_of[group.result_buffer], loop.end);
  place.in_fast_memory =
      Receives(mapping, place.parameter, loop.begin,
               group.parameter_buffer == group.initial_buffer) ||
      Receives(mapping, place.result, loop.end, group.result_buffer == group.root_buffer);
  return place;
}

}  // namespace mallocmuzero::validate
