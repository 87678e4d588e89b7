// Mappings of a program: files, messages, and the two that need no search.

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

// Bit k: access k of the instruction is in fast memory, by flags of all accesses of the program.
uint64_t FastMask(const Program& program, uint32_t instruction,
                  absl::Span<const uint8_t> in_fast_memory);

// Sorts intervals by (first, buffer), the order the mapping must have.
void SortIntervals(Mapping& mapping);

// Checks that the mapping belongs to this program and that every index lies in it and every copy's
// start is not after its end; whether the mapping is valid is another question. InvalidArgument
// names the field.
absl::StatusOr<Mapping> MappingFromProto(const v1::Mapping& proto, const Program& program);

// The mapping of a message that CheckMappingIndices has accepted.
Mapping MappingFromCheckedProto(const v1::Mapping& proto);

// The mapping with header and the program's fingerprint. `mapping` must be for `program`.
v1::Mapping MappingToProto(const Mapping& mapping, const Program& program);

// Reads and checks a mapping file; messages start with the path.
absl::StatusOr<Mapping> LoadMapping(const std::string& path, const Program& program);

// Everything in HBM, solver "all_hbm".
Mapping AllHbmMapping(const Program& program);

// A copy of the compiler's own mapping, Program::baseline; NotFound if the program has none.
absl::StatusOr<Mapping> BaselineMapping(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_
