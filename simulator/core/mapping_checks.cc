#include "simulator/core/mapping_checks.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simulator/core/field_checks.h"

namespace mallocmuzero {
namespace {

using field_checks::CheckIndex;
using field_checks::CheckRange;
using field_checks::Element;
using field_checks::Error;
using field_checks::kMaxBytes;

absl::Status CheckCopy(bool has_start, uint32_t start, bool has_done, uint32_t done, int64_t last,
                       const std::string& field) {
  if (has_start != has_done) {
    return Error(absl::StrCat(field, "_start"), "start and done, or neither,", "one of them");
  }
  if (!has_start) return absl::OkStatus();
  MMZ_RETURN_IF_ERROR(CheckRange(done, 0, last, absl::StrCat(field, "_done")));
  return CheckRange(start, 0, done, absl::StrCat(field, "_start"));
}

absl::Status CheckSlices(const v1::Interval& interval, const v1::Program& program,
                         const std::string& field) {
  if (interval.copy_in_slices_size() == 0) return absl::OkStatus();
  if (!interval.has_copy_in_start()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": copy_in_start expected with slices"));
  }
  const int64_t buffer_bytes = program.buffers(interval.buffer()).bytes();
  int64_t earliest = interval.copy_in_start();
  int64_t bytes = 0;
  for (int k = 0; k < interval.copy_in_slices_size(); ++k) {
    const v1::CopySlice& slice = interval.copy_in_slices(k);
    const int64_t latest = k == 0 ? interval.copy_in_start() : interval.copy_in_done();
    MMZ_RETURN_IF_ERROR(CheckRange(slice.start(), earliest, latest, Element(field, k, "start")));
    MMZ_RETURN_IF_ERROR(
        CheckRange(slice.bytes(), 1, buffer_bytes - bytes, Element(field, k, "bytes")));
    earliest = slice.start();
    bytes += slice.bytes();
  }
  if (bytes == buffer_bytes) return absl::OkStatus();
  return Error(field, absl::StrCat("the buffer's ", buffer_bytes, " bytes in all"), bytes);
}

absl::Status CheckInterval(const v1::Interval& interval, const v1::Program& program,
                           const std::string& field) {
  const int64_t instructions = program.instructions_size();
  MMZ_RETURN_IF_ERROR(
      CheckIndex(interval.buffer(), program.buffers_size(), absl::StrCat(field, ".buffer")));
  MMZ_RETURN_IF_ERROR(CheckIndex(interval.last(), instructions, absl::StrCat(field, ".last")));
  MMZ_RETURN_IF_ERROR(
      CheckRange(interval.first(), 0, interval.last(), absl::StrCat(field, ".first")));
  MMZ_RETURN_IF_ERROR(CheckRange(interval.offset(), 0, kMaxBytes, absl::StrCat(field, ".offset")));
  MMZ_RETURN_IF_ERROR(CheckCopy(interval.has_copy_in_start(), interval.copy_in_start(),
                                interval.has_copy_in_done(), interval.copy_in_done(),
                                instructions - 1, absl::StrCat(field, ".copy_in")));
  MMZ_RETURN_IF_ERROR(CheckSlices(interval, program, absl::StrCat(field, ".copy_in_slices")));
  return CheckCopy(interval.has_copy_out_start(), interval.copy_out_start(),
                   interval.has_copy_out_done(), interval.copy_out_done(), instructions,
                   absl::StrCat(field, ".copy_out"));
}

}  // namespace

absl::Status CheckMappingIndices(const v1::Mapping& mapping, const v1::Program& program,
                                 absl::string_view field) {
  if (mapping.in_fast_memory_size() != program.accesses_size()) {
    return Error(absl::StrCat(field, "in_fast_memory"),
                 absl::StrCat(program.accesses_size(), " entries, one for each access,"),
                 mapping.in_fast_memory_size());
  }
  for (int i = 0; i < mapping.intervals_size(); ++i) {
    const std::string name = absl::StrCat(field, "intervals[", i, "]");
    MMZ_RETURN_IF_ERROR(CheckInterval(mapping.intervals(i), program, name));
    if (i == 0) continue;
    const v1::Interval& previous = mapping.intervals(i - 1);
    const v1::Interval& interval = mapping.intervals(i);
    if (std::make_pair(previous.first(), previous.buffer()) >
        std::make_pair(interval.first(), interval.buffer())) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ascending order of (first, buffer) expected"));
    }
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero
