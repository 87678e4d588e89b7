#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/validate/testing/random_case.h"

namespace mallocmuzero::testing {
namespace {

constexpr int32_t kNever = -1;

class Placer {
 public:
  Placer(const Program& program, std::mt19937_64& random)
      : program_(program),
        random_(random),
        end_(static_cast<int32_t>(program.instruction_count())),
        mapping_(AllHbmMapping(program)),
        in_group_(program.buffer_count(), false) {}

  Mapping Place() {
    for (const CarriedGroup& group : program_.carried_groups()) PlaceGroup(group);
    for (uint32_t b = 0; b < program_.buffer_count(); ++b) {
      if (in_group_[b]) continue;
      const Buffer& buffer = program_.buffers()[b];
      const int32_t home =
          buffer.live_in || Accesses(b).empty() ? -1 : LoopAt(Instruction(Accesses(b)[0]));
      if (Chance(30) && PlaceForLife(b)) continue;
      PlaceWindows({b, home, 0, buffer.live_out ? end_ : kNever});
    }
    SortIntervals(mapping_);
    return mapping_;
  }

 private:
  // A buffer that is current in HBM when `from` comes, and must be so again at `deadline`.
  struct HbmStay {
    uint32_t buffer = 0;
    int32_t home = -1;  // the loop in each of whose passes the value is made again
    int32_t from = 0;
    int32_t deadline = kNever;
  };

  int32_t Uniform(int32_t low, int32_t high) {
    return std::uniform_int_distribution<int32_t>(low, high)(random_);
  }
  bool Chance(int percent) { return Uniform(1, 100) <= percent; }

  absl::Span<const uint32_t> Accesses(uint32_t b) const { return program_.AccessesOfBuffer(b); }
  int32_t Instruction(uint32_t access) const {
    return static_cast<int32_t>(program_.accesses()[access].instruction);
  }
  AccessKind Kind(uint32_t access) const { return program_.accesses()[access].kind; }
  int32_t LoopAt(int32_t point) const {
    return point == end_ ? -1 : program_.instructions()[point].loop;
  }

  // A random point of `loop` in [low, high]; nullopt if there is none.
  std::optional<int32_t> PointIn(int32_t loop, int32_t low, int32_t high) {
    std::vector<int32_t> points;
    for (int32_t p = low; p <= high; ++p) {
      if (LoopAt(p) == loop) points.push_back(p);
    }
    if (points.empty()) return std::nullopt;
    return points[Uniform(0, static_cast<int32_t>(points.size()) - 1)];
  }

  bool Free(const Interval& wanted) const {
    const int64_t bytes = program_.buffers()[wanted.buffer].bytes;
    if (wanted.offset + bytes > program_.hardware().fast_memory_bytes()) return false;
    const auto last = [](const Interval& it) {
      return std::max(static_cast<int32_t>(it.last), it.copy_out_done);
    };
    for (const Interval& placed : mapping_.intervals) {
      const bool apart_in_time = last(placed) < static_cast<int32_t>(wanted.first) ||
                                 last(wanted) < static_cast<int32_t>(placed.first);
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

  void AllFast(uint32_t b) {
    for (const uint32_t access : Accesses(b)) mapping_.in_fast_memory[access] = 1;
  }

  // The interval, extended by a write-back after the point `changed` if the buffer is live out.
  // nullopt if there is no time for the write-back.
  std::optional<Interval> WithLiveOut(Interval it, int32_t changed) {
    if (!program_.buffers()[it.buffer].live_out) return it;
    const std::optional<int32_t> start = PointIn(-1, changed + 1, end_);
    if (!start) return std::nullopt;
    it.copy_out_start = *start;
    it.copy_out_done = *PointIn(-1, *start, end_);
    it.last = end_ - 1;
    return it;
  }

  // The point of the last access that makes a new value; kNever if there is none.
  int32_t LastChange(uint32_t b) const {
    int32_t last = kNever;
    for (const uint32_t a : Accesses(b)) {
      if (Kind(a) != AccessKind::kRead) last = Instruction(a);
    }
    return last;
  }

  bool PlaceForLife(uint32_t b) {
    if (Accesses(b).empty()) return false;
    const Buffer& buffer = program_.buffers()[b];
    Interval it{.buffer = b, .first = buffer.first, .last = buffer.last};
    if (buffer.live_in) {
      const int32_t first_use = Instruction(Accesses(b)[0]);
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
    const auto begin = static_cast<int32_t>(loop.begin);
    const auto end = static_cast<int32_t>(loop.end);
    const uint32_t members[] = {group.initial_buffer, group.parameter_buffer, group.root_buffer,
                                group.result_buffer};
    for (const uint32_t b : members) in_group_[b] = true;
    if (Chance(50) && PlaceGroupInFastMemory(group, loop)) return;
    const bool live_out = program_.buffers()[group.result_buffer].live_out;
    PlaceWindows({group.initial_buffer, loop.parent, 0, begin});
    PlaceWindows({group.parameter_buffer, static_cast<int32_t>(group.loop), begin + 1, kNever});
    PlaceWindows({group.root_buffer, static_cast<int32_t>(group.loop), 0, end});
    PlaceWindows({group.result_buffer, loop.parent, end + 1, live_out ? end_ : kNever});
  }

  bool PlaceGroupInFastMemory(const CarriedGroup& group, const Loop& loop) {
    const auto& buffers = program_.buffers();
    const uint32_t result = group.result_buffer;
    const std::optional<Interval> after =
        WithLiveOut({.buffer = result, .first = loop.end, .last = buffers[result].last},
                    std::max(static_cast<int32_t>(loop.end), LastChange(result)));
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
    for (const uint32_t b :
         {group.initial_buffer, group.parameter_buffer, group.root_buffer, result}) {
      AllFast(b);
    }
    return true;
  }

  // Puts runs of accesses into fast memory. Between the runs, HBM is current.
  void PlaceWindows(HbmStay stay) {
    const absl::Span<const uint32_t> accesses = Accesses(stay.buffer);
    size_t next = 0;
    while (next < accesses.size()) {
      size_t count = 1;
      while (next + count < accesses.size() && Chance(60) &&
             LoopAt(Instruction(accesses[next + count])) == LoopAt(Instruction(accesses[next]))) {
        ++count;
      }
      const int32_t following =
          next + count < accesses.size() ? Instruction(accesses[next + count]) : kNever;
      const std::optional<Interval> window =
          Chance(40) ? std::nullopt : Window(stay, accesses.subspan(next, count), following);
      if (window && Fit({*window})) {
        for (size_t k = 0; k < count; ++k) mapping_.in_fast_memory[accesses[next + k]] = 1;
        stay.from = std::max(static_cast<int32_t>(window->last), window->copy_out_done) + 1;
        next += count;
      } else {
        stay.from = Instruction(accesses[next]) + 1;
        ++next;
      }
    }
  }

  // An interval for a run of accesses, which must all be in one loop. `following` is the
  // instruction of the next access. nullopt if there is no time for the copies.
  std::optional<Interval> Window(const HbmStay& stay, absl::Span<const uint32_t> run,
                                 int32_t following) {
    const int32_t loop = LoopAt(Instruction(run.front()));
    const int32_t first = Instruction(run.front());
    const int32_t last = Instruction(run.back());
    Interval it{.buffer = stay.buffer,
                .first = static_cast<uint32_t>(first),
                .last = static_cast<uint32_t>(last)};
    if (Kind(run.front()) != AccessKind::kWrite) {
      const std::optional<int32_t> start = PointIn(loop, stay.from, first);
      if (!start) return std::nullopt;
      it.copy_in_start = *start;
      it.copy_in_done = *PointIn(loop, *start, first);
      it.first = *start;
    }
    int32_t changed = kNever;
    for (const uint32_t a : run) {
      if (Kind(a) != AccessKind::kRead) changed = Instruction(a);
    }
    if (changed == kNever) return it;
    if (loop != stay.home) return std::nullopt;
    if (following == kNever && stay.deadline == kNever) return it;
    const int32_t limit = following != kNever ? following : stay.deadline;
    const std::optional<int32_t> start = PointIn(loop, changed + 1, limit);
    if (!start) return std::nullopt;
    it.copy_out_start = *start;
    it.copy_out_done = *PointIn(loop, *start, limit);
    it.last = std::max(last, it.copy_out_done - 1);
    return it;
  }

  const Program& program_;
  std::mt19937_64& random_;
  const int32_t end_;
  Mapping mapping_;
  std::vector<bool> in_group_;
};

}  // namespace

Mapping RandomValidMapping(const Program& program, std::mt19937_64& random) {
  return Placer(program, random).Place();
}

}  // namespace mallocmuzero::testing
