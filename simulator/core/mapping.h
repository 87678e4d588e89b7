// Where every access of a program goes, and which copies make it so.

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

// One piece of a sliced copy from HBM: queued just before `start`, behind the pieces before it.
struct CopySlice {
  uint32_t start = 0;
  int64_t bytes = 0;

  friend bool operator==(const CopySlice&, const CopySlice&) = default;
};

// A stay of one buffer in fast memory; see Interval in mapping.proto. Copy positions are -1 where
// there is no copy; start and done are both set or both -1.
struct Interval {
  uint32_t buffer = 0;
  uint32_t first = 0;  // instructions during which the bytes are occupied, inclusive
  uint32_t last = 0;
  int64_t offset = 0;  // bytes
  int32_t copy_in_start = -1;
  int32_t copy_in_done = -1;
  int32_t copy_out_start = -1;
  int32_t copy_out_done = -1;  // up to the number of instructions: after the last one
  bool cross_program_prefetch = false;
  std::vector<CopySlice> copy_in_slices;  // empty: the copy in is one piece

  friend bool operator==(const Interval&, const Interval&) = default;
};

struct Mapping {
  std::vector<Interval> intervals;      // ascending by (first, buffer)
  std::vector<uint8_t> in_fast_memory;  // one an access: 1 in fast memory, 0 in HBM
  std::string solver;                   // who made it, for people

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

// Bit k: access k of the instruction is in fast memory, by flags of all accesses of the program.
uint64_t FastMask(const Program& program, uint32_t instruction,
                  absl::Span<const uint8_t> in_fast_memory);

// Sorts intervals by (first, buffer), the order the mapping must have.
void SortIntervals(Mapping& mapping);

// Checks that the mapping belongs to this program and that every index lies in it and every copy's
// start is not after its end; whether the mapping is valid is another question. InvalidArgument
// names the field.
absl::StatusOr<Mapping> MappingFromProto(const v1::Mapping& proto, const Program& program);

// The mapping with header and the program's fingerprint. `mapping` must be for `program`.
v1::Mapping MappingToProto(const Mapping& mapping, const Program& program);

// Reads and checks a mapping file; messages start with the path.
absl::StatusOr<Mapping> LoadMapping(const std::string& path, const Program& program);

// Everything in HBM, solver "all_hbm".
Mapping AllHbmMapping(const Program& program);

// The compiler's own mapping, Baseline.mapping; NotFound if the program has none.
absl::StatusOr<Mapping> BaselineMapping(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_MAPPING_H_
