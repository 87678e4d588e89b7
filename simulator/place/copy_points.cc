#include "simulator/place/copy_points.h"

#include <algorithm>

#include "absl/types/span.h"
#include "simulator/core/copy_order.h"

namespace mallocmuzero::place {

CopyPoints::CopyPoints(const Program& program, const Mapping& mapping)
    : program_(program),
      mapping_(mapping),
      events_(program.instruction_count() + 1),
      intervals_of_(program.buffer_count()) {
  using Kind = CopyEvent::Kind;
  const auto add = [&](InstructionIndex point, Kind kind, uint32_t interval) {
    events_[point].push_back({kind, interval});
  };
  const auto for_each = [&](auto visit) {
    for (uint32_t k = 0; k < mapping.intervals.size(); ++k) visit(k, mapping.intervals[k]);
  };
  for_each([&](uint32_t k, const Interval& it) {
    intervals_of_[it.buffer].push_back(k);
    if (it.cross_program_prefetch) cross_program_prefetch_ = k;
    if (it.copy_in_done > it.copy_in_start) add(it.copy_in_done, Kind::kDoneIn, k);
    if (it.copy_out_done > it.copy_out_start) add(it.copy_out_done, Kind::kDoneOut, k);
  });
  AddStarts();
  for_each([&](uint32_t k, const Interval& it) {
    if (it.copy_in_start >= 0 && it.copy_in_done == it.copy_in_start) {
      add(it.copy_in_done, Kind::kDoneIn, k);
    }
    if (it.copy_out_start >= 0 && it.copy_out_done == it.copy_out_start) {
      add(it.copy_out_done, Kind::kDoneOut, k);
    }
  });
}

void CopyPoints::AddStarts() {
  using Kind = CopyEvent::Kind;
  IndexVector<InstructionIndex, std::vector<CopyEvent>> starts(events_.size());
  for (uint32_t k = 0; k < mapping_.intervals.size(); ++k) {
    const Interval& it = mapping_.intervals[k];
    if (it.copy_in_start >= 0) starts[it.copy_in_start].push_back({Kind::kStartIn, k});
    if (it.copy_out_start >= 0) starts[it.copy_out_start].push_back({Kind::kStartOut, k});
  }
  for (const InstructionIndex point : starts.indices()) {
    SortQueued(absl::MakeSpan(starts[point]), [this](const CopyEvent& start) {
      const Interval& it = mapping_.intervals[start.interval];
      return start.kind == Kind::kStartIn ? it.copy_in_done : it.copy_out_done;
    });
    events_[point].insert(events_[point].end(), starts[point].begin(), starts[point].end());
  }
}

bool CopyPoints::Contains(BufferIndex buffer, InstructionIndex instruction) const {
  return std::any_of(intervals_of_[buffer].begin(), intervals_of_[buffer].end(), [&](uint32_t k) {
    const Interval& it = mapping_.intervals[k];
    return it.first <= instruction && instruction <= it.last;
  });
}

CopyPoints::Needs CopyPoints::NeedsInside(BufferIndex buffer, InstructionIndex begin,
                                          InstructionIndex end) const {
  Needs needs;
  for (const uint32_t k : intervals_of_[buffer]) {
    const InstructionIndex start = mapping_.intervals[k].copy_in_start;
    if (start > begin && start <= end) needs.hbm = true;
  }
  for (const AccessIndex a : program_.AccessesOfBuffer(buffer)) {
    const InstructionIndex instruction = program_.accesses()[a].instruction;
    if (instruction <= begin || instruction > end) continue;
    if (mapping_.in_fast_memory[a] == 0) {
      needs.hbm = true;
      continue;
    }
    for (const uint32_t k : intervals_of_[buffer]) {
      const Interval& it = mapping_.intervals[k];
      if (it.first <= begin && instruction <= it.last) needs.fast = true;
    }
  }
  return needs;
}

}  // namespace mallocmuzero::place
