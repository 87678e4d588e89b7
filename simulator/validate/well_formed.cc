#include "simulator/validate/well_formed.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::validate {
namespace {

std::string CopyPositions(const Interval& it) {
  return absl::StrCat("copy in ", it.copy_in_start, " to ", it.copy_in_done, ", copy out ",
                      it.copy_out_start, " to ", it.copy_out_done);
}

// Describes how the copies differ from the picture in validate.h, or returns "". The fields may
// hold any numbers, so it adds nothing to them.
std::string CopyFault(const Interval& it) {
  const InstructionIndex first = it.first;
  const InstructionIndex last = it.last;
  const InstructionIndex in_start = it.copy_in_start;
  const InstructionIndex in_done = it.copy_in_done;
  const InstructionIndex out_start = it.copy_out_start;
  const InstructionIndex out_done = it.copy_out_done;
  if ((in_start < 0) != (in_done < 0)) return "copy in needs both start and end";
  if ((out_start < 0) != (out_done < 0)) return "copy out needs both start and end";
  if (in_start >= 0 && !(first <= in_start && in_start <= in_done && in_done <= last)) {
    return "copy in must have first <= start <= done <= last";
  }
  if (out_start >= 0 && !(first <= out_start && out_start <= out_done && out_done - 1 <= last)) {
    return "copy out must have first <= start <= done <= last + 1";
  }
  if (in_start >= 0 && out_start >= 0 && in_done > out_start) {
    return "copy in must be done when copy out starts";
  }
  return "";
}

// The same for the slices of a copy in. `bytes` is the buffer's size.
std::string SliceFault(const Interval& it, int64_t bytes) {
  if (it.copy_in_slices.empty()) return "";
  InstructionIndex earliest = it.copy_in_start;
  int64_t rest = bytes;
  for (const CopySlice& slice : it.copy_in_slices) {
    if (slice.start < earliest || slice.start > it.copy_in_done || slice.bytes <= 0 ||
        slice.bytes > rest) {
      return "slices must ascend from start to done, have bytes, and not exceed the buffer";
    }
    earliest = slice.start;
    rest -= slice.bytes;
  }
  const bool starts = it.copy_in_slices[0].start == it.copy_in_start;
  return starts && rest == 0 ? "" : "slices must begin at start and fill the buffer";
}

void CheckInterval(const Program& program, const Mapping& mapping, size_t k, Report& report) {
  const Interval& it = mapping.intervals[k];
  if (!program.buffers().contains(it.buffer)) {
    report.Add(Rule::kUnknownBuffer, k,
               absl::StrCat("interval ", k, " names buffer ", it.buffer, ", the program has ",
                            program.buffer_count(), " buffers"));
    return;
  }
  if (it.first < 0 || it.first > it.last || !program.instructions().contains(it.last)) {
    report.Add(Rule::kIntervalBounds, k,
               absl::StrCat(report.DescribeInterval(k), " must have first <= last < ",
                            program.instruction_count(), " instructions"));
    return;
  }
  std::string fault = CopyFault(it);
  if (fault.empty()) fault = SliceFault(it, program.buffers()[it.buffer].bytes);
  if (!fault.empty()) {
    report.Add(Rule::kCopyPositions, k,
               absl::StrCat(report.DescribeInterval(k), " (", CopyPositions(it), "): ", fault));
  }
}

}  // namespace

void CheckWellFormed(const Program& program, const Mapping& mapping, Report& report) {
  if (mapping.in_fast_memory.size() != program.access_count()) {
    report.Add(Rule::kAccessCount, 0,
               absl::StrCat("in_fast_memory has ", mapping.in_fast_memory.size(),
                            " entries, the program has ", program.access_count(), " accesses"));
  }
  for (size_t k = 0; k < mapping.intervals.size(); ++k) {
    CheckInterval(program, mapping, k, report);
    if (k == 0) continue;
    const Interval& previous = mapping.intervals[k - 1];
    const Interval& it = mapping.intervals[k];
    if (it.first < previous.first || (it.first == previous.first && it.buffer < previous.buffer)) {
      report.Add(Rule::kIntervalOrder, k,
                 absl::StrCat("interval ", k, " (first ", it.first, ", buffer ", it.buffer,
                              ") must come before interval ", k - 1, " (first ", previous.first,
                              ", buffer ", previous.buffer, ")"));
    }
  }
}

}  // namespace mallocmuzero::validate
