// Finds where a carried group is at the four points at which its loop hands the value on.

#ifndef MALLOCMUZERO_SIMULATOR_VALIDATE_CARRIED_PLACE_H_
#define MALLOCMUZERO_SIMULATOR_VALIDATE_CARRIED_PLACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::validate {

// The intervals that contain the markers; see the picture in validate.h.
struct CarriedPlace {
  bool in_fast_memory = false;
  std::vector<size_t> initial;    // at the begin marker
  std::vector<size_t> parameter;  // at the begin marker
  std::vector<size_t> root;       // at the end marker
  std::vector<size_t> result;     // at the end marker

  // True if the group is in HBM, or is in fast memory with exactly one interval at each point.
  bool Unambiguous() const {
    return !in_fast_memory ||
           (initial.size() == 1 && parameter.size() == 1 && root.size() == 1 && result.size() == 1);
  }
};

// Indices of the intervals of each buffer, ascending.
using IntervalsOfBuffers = IndexVector<BufferIndex, std::vector<size_t>>;

// The intervals of the mapping, which must be well formed.
IntervalsOfBuffers ListIntervals(const Program& program, const Mapping& mapping);

// The place of a carried group under the mapping, whose intervals are listed.
CarriedPlace PlaceOfGroup(const Program& program, const Mapping& mapping,
                          const IntervalsOfBuffers& intervals_of, const CarriedGroup& group);

}  // namespace mallocmuzero::validate

#endif  // MALLOCMUZERO_SIMULATOR_VALIDATE_CARRIED_PLACE_H_
