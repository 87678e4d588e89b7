// Mappings of a program: files, messages, and the two mappings that need no search.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_
#define MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "simulator/core/mapping_types.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The mask of an instruction's accesses in fast memory: bit k is set if the flag of its access k
// is. `in_fast_memory` has one flag for each access of the program.
uint64_t FastMask(const Program& program, InstructionIndex instruction,
                  IndexSpan<AccessIndex, const uint8_t> in_fast_memory);

// Sorts intervals by (first, buffer), the order that a Mapping must have.
void SortIntervals(Mapping& mapping);

// Adds intervals to those of the mapping, in linear time. Both must be sorted, and the result is.
// Among equals, those of the mapping come first.
void MergeIntervals(absl::Span<const Interval> added, Mapping& mapping);

// Converts a mapping and checks that it belongs to this program, that every index lies in the
// program, and that no copy is done before it starts. Does not check that the mapping could run
// (simulator/validate does). InvalidArgument, with the field in the message, if a check fails.
absl::StatusOr<Mapping> MappingFromProto(const v1::Mapping& proto, const Program& program);

// Converts a message that CheckMappingIndices has accepted.
Mapping MappingFromCheckedProto(const v1::Mapping& proto);

// The mapping as a message, with the header and the program's fingerprint. `mapping` must be for
// `program`.
v1::Mapping MappingToProto(const Mapping& mapping, const Program& program);

// Reads a mapping file and checks it as MappingFromProto does. Error messages start with the path.
absl::StatusOr<Mapping> LoadMapping(const std::string& path, const Program& program);

// The mapping with everything in HBM; its solver is "all_hbm".
Mapping AllHbmMapping(const Program& program);

// A copy of the default as a mapping, Program::baseline. NotFound if the program has none.
absl::StatusOr<Mapping> BaselineMapping(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_
