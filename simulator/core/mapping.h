// A mapping: the memory of every access of a program, and the copies that this takes.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_
#define MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// One piece of a sliced copy from HBM. It is queued just before instruction `start`, behind the
// pieces before it.
struct CopySlice {
  uint32_t start = 0;
  int64_t bytes = 0;

  friend bool operator==(const CopySlice&, const CopySlice&) = default;
};

// A time that one buffer is in fast memory at one address; see Interval in mapping.proto. Positions
// of copies are instructions; -1 means that there is no copy. The start and the done of a copy are
// both set or both -1.
struct Interval {
  uint32_t buffer = 0;
  uint32_t first = 0;  // the bytes are occupied from instruction `first` to `last`, inclusive
  uint32_t last = 0;
  int64_t offset = 0;  // bytes
  int32_t copy_in_start = -1;
  int32_t copy_in_done = -1;
  int32_t copy_out_start = -1;
  int32_t copy_out_done = -1;  // may be the number of instructions: after the last one
  bool cross_program_prefetch = false;
  std::vector<CopySlice> copy_in_slices;  // empty if the copy in is one piece

  friend bool operator==(const Interval&, const Interval&) = default;
};

// A mapping of one program; see Mapping in mapping.proto.
struct Mapping {
  std::vector<Interval> intervals;      // ascending by (first, buffer)
  std::vector<uint8_t> in_fast_memory;  // one for each access: 1 in fast memory, 0 in HBM
  std::string solver;                   // what made the mapping, for people

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// The mask of an instruction's accesses in fast memory: bit k is set if the flag of its access k
// is. `in_fast_memory` has one flag for each access of the program.
uint64_t FastMask(const Program& program, uint32_t instruction,
                  absl::Span<const uint8_t> in_fast_memory);

// Sorts intervals by (first, buffer), the order that a Mapping must have.
void SortIntervals(Mapping& mapping);

// Converts a mapping and checks that it belongs to this program, that every index lies in the
// program, and that no copy is done before it starts. Does not check that the mapping could run
// (simulator/validate does). InvalidArgument, with the field in the message, if a check fails.
absl::StatusOr<Mapping> MappingFromProto(const v1::Mapping& proto, const Program& program);

// The mapping as a message, with the header and the program's fingerprint. `mapping` must be for
// `program`.
v1::Mapping MappingToProto(const Mapping& mapping, const Program& program);

// Reads a mapping file and checks it as MappingFromProto does. Error messages start with the path.
absl::StatusOr<Mapping> LoadMapping(const std::string& path, const Program& program);

// The mapping with everything in HBM; its solver is "all_hbm".
Mapping AllHbmMapping(const Program& program);

// The default as a mapping (Baseline.mapping). NotFound if the program has none.
absl::StatusOr<Mapping> BaselineMapping(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_
