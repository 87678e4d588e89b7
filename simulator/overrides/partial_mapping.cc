#include "simulator/overrides/partial_mapping.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mallocmuzero {
namespace {

class PartialMapping {
 public:
  PartialMapping(const Program& program, const Mapping& from, const Mapping& wanted,
                 absl::Span<const AccessIndex> accesses)
      : program_(program),
        from_(from),
        wanted_(wanted),
        accesses_(accesses),
        buffer_(program.accesses()[accesses.front()].buffer),
        comes_(wanted.intervals.size(), false),
        mapping_(from) {}

  Mapping Run() && {
    for (const AccessIndex a : accesses_) {
      mapping_.in_fast_memory[a] = wanted_.in_fast_memory[a];
      if (IsWantedFast(a)) Take(a);
    }
    for (const Interval& interval : from_.intervals) {
      if (IsTouched(interval)) TakeForTheRestOf(interval);
    }
    std::erase_if(mapping_.intervals, [this](const Interval& interval) { return Goes(interval); });
    std::vector<Interval> added;
    for (size_t i = 0; i < wanted_.intervals.size(); ++i) {
      if (comes_[i]) added.push_back(wanted_.intervals[i]);
    }
    MergeIntervals(added, mapping_);
    return std::move(mapping_);
  }

 private:
  bool IsFast(AccessIndex access) const { return mapping_.in_fast_memory[access] != 0; }
  bool IsWantedFast(AccessIndex access) const { return wanted_.in_fast_memory[access] != 0; }

  bool Covers(const Interval& interval, AccessIndex access) const {
    const InstructionIndex instruction = program_.accesses()[access].instruction;
    return interval.buffer == buffer_ && interval.first <= instruction &&
           instruction <= interval.last;
  }

  // Takes the wanted intervals that serve an access.
  void Take(AccessIndex access) {
    for (size_t i = 0; i < wanted_.intervals.size(); ++i) {
      if (Covers(wanted_.intervals[i], access)) comes_[i] = true;
    }
  }

  bool IsTouched(const Interval& interval) const {
    return std::any_of(accesses_.begin(), accesses_.end(),
                       [&](AccessIndex a) { return Covers(interval, a); });
  }

  void TakeForTheRestOf(const Interval& interval) {
    for (const AccessIndex a : program_.AccessesOfBuffer(buffer_)) {
      if (Covers(interval, a) && IsFast(a) && IsWantedFast(a)) Take(a);
    }
  }

  bool IsTaken(AccessIndex access) const {
    for (size_t i = 0; i < comes_.size(); ++i) {
      if (comes_[i] && Covers(wanted_.intervals[i], access)) return true;
    }
    return false;
  }

  bool OverlapsATakenOne(const Interval& interval) const {
    for (size_t i = 0; i < comes_.size(); ++i) {
      const Interval& other = wanted_.intervals[i];
      if (comes_[i] && other.first <= interval.last && interval.first <= other.last) return true;
    }
    return false;
  }

  // Whether an interval of `from_` is not needed any more.
  bool Goes(const Interval& interval) const {
    if (interval.buffer != buffer_) return false;
    if (!IsTouched(interval) && !OverlapsATakenOne(interval)) return false;
    const absl::Span<const AccessIndex> users = program_.AccessesOfBuffer(buffer_);
    return std::none_of(users.begin(), users.end(), [&](AccessIndex a) {
      return Covers(interval, a) && IsFast(a) && !IsTaken(a);
    });
  }

  const Program& program_;
  const Mapping& from_;
  const Mapping& wanted_;
  const absl::Span<const AccessIndex> accesses_;
  const BufferIndex buffer_;
  std::vector<bool> comes_;  // by interval of wanted_
  Mapping mapping_;
};

}  // namespace

Mapping WithAccessesAsWanted(const Program& program, const Mapping& from, const Mapping& wanted,
                             absl::Span<const AccessIndex> accesses) {
  if (accesses.empty()) return from;
  return PartialMapping(program, from, wanted, accesses).Run();
}

}  // namespace mallocmuzero
