#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/validate/testing/random_case.h"

namespace mallocmuzero::testing {
namespace {

constexpr InstructionIndex kNever = -1;

class Placer {
 public:
  Placer(const Program& program, std::mt19937_64& random)
      : program_(program),
        random_(random),
        end_(program.instructions().end_index()),
        mapping_(AllHbmMapping(program)),
        in_group_(program.buffer_count(), 0) {}

  Mapping Place() {
    for (const CarriedGroup& group : program_.carried_groups()) PlaceGroup(group);
    for (const BufferIndex b : program_.buffers().indices()) {
      if (in_group_[b] != 0) continue;
      const Buffer& buffer = program_.buffers()[b];
      LoopIndex home = -1;
      if (!buffer.live_in && !Accesses(b).empty()) home = LoopAt(Instruction(Accesses(b)[0]));
      if (Chance(30) && PlaceForLife(b)) continue;
      PlaceWindows({b, home, 0, buffer.live_out ? end_ : kNever});
    }
    SortIntervals(mapping_);
    return mapping_;
  }

 private:
  // A buffer that is current in HBM when `from` comes, and must be so again at `deadline`.
  struct HbmStay {
    BufferIndex buffer = 0;
    LoopIndex home = -1;  // the loop in each of whose passes the value is made again
    InstructionIndex from = 0;
    InstructionIndex deadline = kNever;
  };

  int32_t Uniform(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }
  bool Chance(int percent) { return Uniform(1, 100) <= percent; }

  absl::Span<const AccessIndex> Accesses(BufferIndex b) const {
    return program_.AccessesOfBuffer(b);
  }
  InstructionIndex Instruction(AccessIndex access) const {
    return program_.accesses()[access].instruction;
  }
  AccessKind Kind(AccessIndex access) const { return program_.accesses()[access].kind; }
  LoopIndex LoopAt(InstructionIndex point) const {
    return point == end_ ? LoopIndex(-1) : program_.instructions()[point].loop;
  }

  // A random point of `loop` in [low, high]; nullopt if there is none.
  std::optional<InstructionIndex> PointIn(LoopIndex loop, InstructionIndex low,
                                          InstructionIndex high) {
    std::vector<InstructionIndex> points;
    for (InstructionIndex p = low; p <= high; ++p) {
      if (LoopAt(p) == loop) points.push_back(p);
    }
    if (points.empty()) return std::nullopt;
    return points[Uniform(0, std::ssize(points) - 1)];
  }

  bool Free(const Interval& wanted) const {
    const int64_t bytes = program_.buffers()[wanted.buffer].bytes;
    if (wanted.offset + bytes > program_.hardware().fast_memory_bytes()) return false;
    const auto last = [](const Interval& it) { return std::max(it.last, it.copy_out_done); };
    for (const Interval& placed : mapping_.intervals) {
      const bool apart_in_time = last(placed) < wanted.first || last(wanted) < placed.first;
      const bool apart_in_space =
          placed.offset + program_.buffers()[placed.buffer].bytes <= wanted.offset ||
          wanted.offset + bytes <= placed.offset;
      if (!apart_in_time && !apart_in_space) return false;
    }
    return true;
  }

  // Adds the intervals at the first offset that is free for all of them. Returns false if there is
  // none.
  bool Fit(std::vector<Interval> intervals) {
    for (int64_t offset = 0; offset < program_.hardware().fast_memory_bytes(); offset += 16) {
      bool free = true;
      for (Interval& it : intervals) {
        it.offset = offset;
        free = free && Free(it);
      }
      if (!free) continue;
      mapping_.intervals.insert(mapping_.intervals.end(), intervals.begin(), intervals.end());
      return true;
    }
    return false;
  }

  void AllFast(BufferIndex b) {
    for (const AccessIndex access : Accesses(b)) mapping_.in_fast_memory[access] = 1;
  }

  // The interval, extended by a write-back after the point `changed` if the buffer is live out.
  // nullopt if there is no time for the write-back.
  std::optional<Interval> WithLiveOut(Interval it, InstructionIndex changed) {
    if (!program_.buffers()[it.buffer].live_out) return it;
    const std::optional<InstructionIndex> start = PointIn(-1, changed + 1, end_);
    if (!start) return std::nullopt;
    it.copy_out_start = *start;
    it.copy_out_done = *PointIn(-1, *start, end_);
    it.last = end_ - 1;
    return it;
  }

  // The point of the last access that makes a new value; kNever if there is none.
  InstructionIndex LastChange(BufferIndex b) const {
    InstructionIndex last = kNever;
    for (const AccessIndex a : Accesses(b)) {
      if (Kind(a) != AccessKind::kRead) last = Instruction(a);
    }
    return last;
  }

  bool PlaceForLife(BufferIndex b) {
    if (Accesses(b).empty()) return false;
    const Buffer& buffer = program_.buffers()[b];
    Interval it{.buffer = b, .first = buffer.first, .last = buffer.last};
    if (buffer.live_in) {
      const InstructionIndex first_use = Instruction(Accesses(b)[0]);
      it.copy_in_start = *PointIn(-1, 0, first_use);
      it.copy_in_done = *PointIn(-1, it.copy_in_start, first_use);
      it.first = it.copy_in_start;
    }
    const std::optional<Interval> whole = WithLiveOut(it, LastChange(b));
    if (!whole || !Fit({*whole})) return false;
    AllFast(b);
    return true;
  }

  void PlaceGroup(const CarriedGroup& group) {
    const Loop& loop = program_.loops()[group.loop];
    const InstructionIndex begin = loop.begin;
    const InstructionIndex end = loop.end;
    const BufferIndex members[] = {group.initial_buffer, group.parameter_buffer, group.root_buffer,
                                   group.result_buffer};
    for (const BufferIndex b : members) in_group_[b] = 1;
    if (Chance(50) && PlaceGroupInFastMemory(group, loop)) return;
    const bool live_out = program_.buffers()[group.result_buffer].live_out;
    PlaceWindows({group.initial_buffer, loop.parent, 0, begin});
    PlaceWindows({group.parameter_buffer, group.loop, begin + 1, kNever});
    PlaceWindows({group.root_buffer, group.loop, 0, end});
    PlaceWindows({group.result_buffer, loop.parent, end + 1, live_out ? end_ : kNever});
  }

  bool PlaceGroupInFastMemory(const CarriedGroup& group, const Loop& loop) {
    const auto& buffers = program_.buffers();
    const BufferIndex result = group.result_buffer;
    const std::optional<Interval> after =
        WithLiveOut({.buffer = result, .first = loop.end, .last = buffers[result].last},
                    std::max(loop.end, LastChange(result)));
    if (!after) return false;
    const Interval initial{.buffer = group.initial_buffer,
                           .first = buffers[group.initial_buffer].first,
                           .last = loop.begin};
    const Interval parameter{.buffer = group.parameter_buffer,
                             .first = loop.begin,
                             .last = buffers[group.parameter_buffer].last};
    const Interval root{
        .buffer = group.root_buffer, .first = buffers[group.root_buffer].first, .last = loop.end};
    if (!Fit({initial, parameter, root, *after})) return false;
    for (const BufferIndex b :
         {group.initial_buffer, group.parameter_buffer, group.root_buffer, result}) {
      AllFast(b);
    }
    return true;
  }

  // Puts runs of accesses into fast memory. Between the runs, HBM is current.
  void PlaceWindows(HbmStay stay) {
    const absl::Span<const AccessIndex> accesses = Accesses(stay.buffer);
    size_t next = 0;
    while (next < accesses.size()) {
      size_t count = 1;
      while (next + count < accesses.size() && Chance(60) &&
             LoopAt(Instruction(accesses[next + count])) == LoopAt(Instruction(accesses[next]))) {
        ++count;
      }
      const InstructionIndex following =
          next + count < accesses.size() ? Instruction(accesses[next + count]) : kNever;
      const std::optional<Interval> window =
          Chance(40) ? std::nullopt : Window(stay, accesses.subspan(next, count), following);
      if (window && Fit({*window})) {
        for (size_t k = 0; k < count; ++k) mapping_.in_fast_memory[accesses[next + k]] = 1;
        stay.from = std::max(window->last, window->copy_out_done) + 1;
        next += count;
      } else {
        stay.from = Instruction(accesses[next]) + 1;
        ++next;
      }
    }
  }

  // An interval for a run of accesses, which must all be in one loop. `following` is the
  // instruction of the next access. nullopt if there is no time for the copies.
  std::optional<Interval> Window(const HbmStay& stay, absl::Span<const AccessIndex> run,
                                 InstructionIndex following) {
    const LoopIndex loop = LoopAt(Instruction(run.front()));
    const InstructionIndex first = Instruction(run.front());
    const InstructionIndex last = Instruction(run.back());
    Interval it{.buffer = stay.buffer, .first = first, .last = last};
    if (Kind(run.front()) != AccessKind::kWrite) {
      const std::optional<InstructionIndex> start = PointIn(loop, stay.from, first);
      if (!start) return std::nullopt;
      it.copy_in_start = *start;
      it.copy_in_done = *PointIn(loop, *start, first);
      it.first = *start;
    }
    InstructionIndex changed = kNever;
    for (const AccessIndex a : run) {
      if (Kind(a) != AccessKind::kRead) changed = Instruction(a);
    }
    if (changed == kNever) return it;
    if (loop != stay.home) return std::nullopt;
    if (following == kNever && stay.deadline == kNever) return it;
    const InstructionIndex limit = following != kNever ? following : stay.deadline;
    const std::optional<InstructionIndex> start = PointIn(loop, changed + 1, limit);
    if (!start) return std::nullopt;
    it.copy_out_start = *start;
    it.copy_out_done = *PointIn(loop, *start, limit);
    it.last = std::max(last, it.copy_out_done - 1);
    return it;
  }

  const Program& program_;
  std::mt19937_64& random_;
  const InstructionIndex end_;
  Mapping mapping_;
  IndexVector<BufferIndex, uint8_t> in_group_;
};

}  // namespace

Mapping RandomValidMapping(const Program& program, std::mt19937_64& random) {
  return Placer(program, random).Place();
}

}  // namespace mallocmuzero::testing
