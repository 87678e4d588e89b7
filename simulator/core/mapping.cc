#include "simulator/core/mapping.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "simulator/core/mapping_checks.h"

namespace mallocmuzero {
namespace {

void IntervalToProto(const Interval& from, v1::Interval& to) {
  to.set_buffer(from.buffer.number());
  to.set_first(from.first.number());
  to.set_last(from.last.number());
  to.set_offset(from.offset);
  if (from.copy_in_start >= 0) {
    to.set_copy_in_start(from.copy_in_start.number());
    to.set_copy_in_done(from.copy_in_done.number());
  }
  if (from.copy_out_start >= 0) {
    to.set_copy_out_start(from.copy_out_start.number());
    to.set_copy_out_done(from.copy_out_done.number());
  }
  to.set_cross_program_prefetch(from.cross_program_prefetch);
  for (const CopySlice& slice : from.copy_in_slices) {
    v1::CopySlice& added = *to.add_copy_in_slices();
    added.set_start(slice.start.number());
    added.set_bytes(slice.bytes);
  }
}

// The order of intervals in a mapping.
constexpr auto kComesBefore = [](const Interval& a, const Interval& b) {
  return std::tie(a.first, a.buffer) < std::tie(b.first, b.buffer);
};

std::string ShortHash(absl::string_view hash) { return absl::BytesToHexString(hash.substr(0, 6)); }

}  // namespace

uint64_t FastMask(const Program& program, InstructionIndex instruction,
                  IndexSpan<AccessIndex, const uint8_t> in_fast_memory) {
  const Instruction& i = program.instructions()[instruction];
  uint64_t mask = 0;
  for (uint32_t k = 0; k < i.access_count; ++k) {
    if (in_fast_memory[i.first_access + k] != 0) mask |= uint64_t{1} << k;
  }
  return mask;
}

void SortIntervals(Mapping& mapping) {
  std::stable_sort(mapping.intervals.begin(), mapping.intervals.end(), kComesBefore);
}

void MergeIntervals(absl::Span<const Interval> added, Mapping& mapping) {
  const auto old_count = std::ssize(mapping.intervals);
  mapping.intervals.insert(mapping.intervals.end(), added.begin(), added.end());
  std::inplace_merge(mapping.intervals.begin(), mapping.intervals.begin() + old_count,
                     mapping.intervals.end(), kComesBefore);
}

absl::StatusOr<Mapping> MappingFromProto(const v1::Mapping& proto, const Program& program) {
  MMZ_RETURN_IF_ERROR(CheckHeader(proto, "header"));
  const std::string& expected = program.proto().fingerprint();
  if (proto.program_sha256() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("program_sha256: the mapping is for another program: ", ShortHash(expected),
                     "... expected, found ", ShortHash(proto.program_sha256()), "..."));
  }
  MMZ_RETURN_IF_ERROR(CheckMappingIndices(proto, program.proto(), ""));
  return MappingFromCheckedProto(proto);
}

Mapping MappingFromCheckedProto(const v1::Mapping& proto) {
  Mapping mapping;
  mapping.intervals.reserve(proto.intervals_size());
  for (const v1::Interval& from : proto.intervals()) {
    Interval& to = mapping.intervals.emplace_back();
    to.buffer = BufferIndex(from.buffer());
    to.first = InstructionIndex(from.first());
    to.last = InstructionIndex(from.last());
    to.offset = from.offset();
    if (from.has_copy_in_start()) {
      to.copy_in_start = InstructionIndex(from.copy_in_start());
      to.copy_in_done = InstructionIndex(from.copy_in_done());
    }
    if (from.has_copy_out_start()) {
      to.copy_out_start = InstructionIndex(from.copy_out_start());
      to.copy_out_done = InstructionIndex(from.copy_out_done());
    }
    to.cross_program_prefetch = from.cross_program_prefetch();
    for (const v1::CopySlice& slice : from.copy_in_slices()) {
      to.copy_in_slices.push_back({InstructionIndex(slice.start()), slice.bytes()});
    }
  }
  mapping.in_fast_memory.assign(proto.in_fast_memory().begin(), proto.in_fast_memory().end());
  mapping.solver = proto.solver();
  return mapping;
}

v1::Mapping MappingToProto(const Mapping& mapping, const Program& program) {
  v1::Mapping proto;
  FillHeader(proto);
  proto.set_program_sha256(program.proto().fingerprint());
  for (const Interval& interval : mapping.intervals) {
    IntervalToProto(interval, *proto.add_intervals());
  }
  proto.mutable_in_fast_memory()->Add(mapping.in_fast_memory.begin(), mapping.in_fast_memory.end());
  proto.set_solver(mapping.solver);
  return proto;
}

absl::StatusOr<Mapping> LoadMapping(const std::string& path, const Program& program) {
  const absl::StatusOr<v1::Mapping> proto = ReadMessage<v1::Mapping>(path);
  if (!proto.ok()) return proto.status();
  absl::StatusOr<Mapping> mapping = MappingFromProto(*proto, program);
  if (!mapping.ok()) return StatusAt(path, mapping.status());
  return mapping;
}

Mapping AllHbmMapping(const Program& program) {
  Mapping mapping;
  mapping.in_fast_memory.assign(program.access_count(), 0);
  mapping.solver = "all_hbm";
  return mapping;
}

absl::StatusOr<Mapping> BaselineMapping(const Program& program) {
  if (program.baseline() == nullptr) {
    return absl::NotFoundError(absl::StrCat(program.proto().name(),
                                            ": the program has no default mapping; a program that "
                                            "was imported with --default expected"));
  }
  return program.baseline()->mapping;
}

}  // namespace mallocmuzero
