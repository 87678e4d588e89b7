#include "simulator/validate/geometry.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/validate/carried_place.h"

namespace mallocmuzero::validate {
namespace {

class GeometryCheck {
 public:
  GeometryCheck(const Program& program, const Mapping& mapping, Report& report)
      : program_(program),
        mapping_(mapping),
        report_(report),
        intervals_of_(ListIntervals(program, mapping)),
        ranges_(program.buffer_count()) {
    for (const BufferIndex b : program.buffers().indices()) {
      ranges_[b] = {program.buffers()[b].first, program.buffers()[b].last};
    }
    for (const CarriedGroup& group : program.carried_groups()) {
      const Loop& loop = program.loops()[group.loop];
      ranges_[group.initial_buffer].Include(loop.begin);
      ranges_[group.parameter_buffer].Include(loop.begin);
      ranges_[group.root_buffer].Include(loop.end);
      ranges_[group.result_buffer].Include(loop.end);
      handovers_.emplace_back(loop.begin, group.initial_buffer, group.parameter_buffer);
      handovers_.emplace_back(loop.end, group.root_buffer, group.result_buffer);
    }
    std::sort(handovers_.begin(), handovers_.end());
  }

  void Run() {
    // The intervals before the current one that have not ended. Intervals ascend by their first
    // instruction, so that no later one can overlap with one that has ended.
    std::vector<size_t> open;
    for (size_t k = 0; k < mapping_.intervals.size(); ++k) {
      CheckAddress(k);
      CheckLiveRange(k);
      CheckCopyInOneLoop(k);
      if (program_.buffers()[mapping_.intervals[k].buffer].pinned_to_hbm) {
        report_.Add(Rule::kPinnedToHbm, k,
                    absl::StrCat(report_.DescribeInterval(k), ": the buffer is pinned to HBM"));
      }
      std::erase_if(open, [&](size_t j) {
        return LastPoint(mapping_.intervals[j]) < PointsBefore(mapping_.intervals[k].first);
      });
      for (const size_t j : open) CheckOverlap(j, k);
      open.push_back(k);
    }
    CheckCrossProgramPrefetch();
    for (const v1::Collective& collective : program_.proto().collectives()) {
      for (const uint32_t buffer : collective.buffers()) {
        CheckFlight(collective, BufferIndex(buffer));
      }
    }
    for (const CarriedGroupIndex g : program_.carried_groups().indices()) CheckGroup(g);
  }

 private:
  // The live range of a buffer. An interval that hands on a group's value contains the markers even
  // if no access does, so the live range here includes the markers.
  struct Range {
    InstructionIndex first;
    InstructionIndex last;

    void Include(InstructionIndex marker) {
      first = std::min(first, marker);
      last = std::max(last, marker);
    }
  };

  // A marker at which a group's value passes from the first buffer to the second.
  using Handover = std::tuple<InstructionIndex, BufferIndex, BufferIndex>;

  int64_t Bytes(const Interval& it) const { return program_.buffers()[it.buffer].bytes; }

  void CheckAddress(size_t k) {
    const Interval& it = mapping_.intervals[k];
    const int64_t alignment = program_.hardware().fast_memory_alignment_bytes();
    if (it.offset % alignment != 0) {
      report_.Add(Rule::kAlignment, k,
                  absl::StrCat(report_.DescribeInterval(k), ": offset ", it.offset,
                               " is not a multiple of ", alignment, " bytes"));
    }
    const int64_t capacity = program_.hardware().fast_memory_bytes();
    if (it.offset >= 0 && it.offset <= capacity - Bytes(it)) return;
    report_.Add(Rule::kCapacity, k,
                absl::StrCat(report_.DescribeInterval(k), ": ", Bytes(it), " bytes at offset ",
                             it.offset, " do not fit in ", capacity, " bytes"));
  }

  void CheckLiveRange(size_t k) {
    const Interval& it = mapping_.intervals[k];
    const auto [first, last] = ranges_[it.buffer];
    const InstructionIndex allowed_last = std::max(last, it.copy_out_done);
    if (it.first >= first && it.last <= allowed_last) return;
    report_.Add(Rule::kLiveRange, k,
                absl::StrCat(report_.DescribeInterval(k), " extends beyond the live range [", first,
                             ", ", last, "] without a write-back that needs it"));
  }

  LoopIndex LoopOfPointBefore(InstructionIndex instruction) const {
    if (!program_.instructions().contains(instruction)) return -1;
    return program_.instructions()[instruction].loop;
  }

  void CheckCopyInOneLoop(size_t k) {
    const Interval& it = mapping_.intervals[k];
    const auto check = [&](absl::string_view what, InstructionIndex start, InstructionIndex done) {
      if (start < 0 || LoopOfPointBefore(start) == LoopOfPointBefore(done)) return;
      report_.Add(
          Rule::kCopyAcrossLoop, k,
          absl::StrCat(report_.DescribeInterval(k), ": ", what, " starts before ",
                       report_.DescribeInstruction(start), " and ends before ",
                       report_.DescribeInstruction(done), ", which are not in the same loop"));
    };
    check("its copy in", it.copy_in_start, it.copy_in_done);
    for (const CopySlice& slice : it.copy_in_slices) {
      check("a slice of its copy in", slice.start, it.copy_in_done);
    }
    check("its copy out", it.copy_out_start, it.copy_out_done);
  }

  // Points in time. 3i: until the copies have finished that were queued earlier and are waited for
  // before instruction i. 3i + 1: the copies queued just before instruction i. 3i + 2: the
  // instruction.
  static int64_t PointsBefore(InstructionIndex instruction) {
    return 3 * int64_t{instruction.number()};
  }
  static int64_t FirstPoint(const Interval& it) {
    const bool filled_before = it.copy_in_start == it.first;
    if (it.cross_program_prefetch) return PointsBefore(it.first);
    return PointsBefore(it.first) + (filled_before ? 1 : 2);
  }
  static int64_t LastPoint(const Interval& it) {
    const bool at_once = it.copy_out_start == it.copy_out_done;
    return std::max(PointsBefore(it.last) + 2, PointsBefore(it.copy_out_done) + (at_once ? 1 : 0));
  }

  // Bytes that an interval occupies from one point in time to its end: all of its bytes, or a
  // slice.
  struct Piece {
    int64_t begin;
    int64_t end;
    int64_t first_point;
  };

  std::vector<Piece> Pieces(const Interval& it) const {
    if (it.copy_in_slices.empty()) return {{it.offset, it.offset + Bytes(it), FirstPoint(it)}};
    std::vector<Piece> pieces;
    int64_t begin = it.offset;
    for (const CopySlice& slice : it.copy_in_slices) {
      pieces.push_back({begin, begin + slice.bytes, PointsBefore(slice.start) + 1});
      begin += slice.bytes;
    }
    return pieces;
  }

  // True if the intervals would occupy common bytes at some point in time, if both occupied all
  // their bytes from the point before `first` on. No slice starts earlier than that in a
  // well-formed mapping.
  bool Touch(const Interval& a, const Interval& b) const {
    return PointsBefore(a.first) <= LastPoint(b) && PointsBefore(b.first) <= LastPoint(a) &&
           a.offset < b.offset + Bytes(b) && b.offset < a.offset + Bytes(a);
  }

  // True if two pieces occupy common bytes. The pieces of an interval ascend without gaps, so one
  // pass over both lists visits every pair with common bytes.
  bool PiecesOverlap(const Interval& a, const Interval& b) const {
    const std::vector<Piece> ones = Pieces(a);
    const std::vector<Piece> twos = Pieces(b);
    for (size_t i = 0, j = 0; i < ones.size() && j < twos.size();) {
      const Piece& one = ones[i];
      const Piece& two = twos[j];
      if (two.first_point <= LastPoint(a) && one.first_point <= LastPoint(b) &&
          one.begin < two.end && two.begin < one.end) {
        return true;
      }
      one.end < two.end ? ++i : ++j;
    }
    return false;
  }

  // True if `to` takes over the value of a group from `from` at a marker, and the marker is their
  // only common point.
  bool HandsOver(const Interval& from, const Interval& to) const {
    if (from.offset != to.offset || from.last != to.first) return false;
    if (LastPoint(from) != FirstPoint(to)) return false;
    return std::binary_search(handovers_.begin(), handovers_.end(),
                              Handover(from.last, from.buffer, to.buffer));
  }

  void CheckOverlap(size_t j, size_t k) {
    if (report_.full()) return;  // only this rule can be broken millions of times
    const Interval& a = mapping_.intervals[j];
    const Interval& b = mapping_.intervals[k];
    // Offsets outside fast memory are reported as kCapacity, and would make the sums below
    // overflow.
    const int64_t end = program_.hardware().fast_memory_bytes();
    if (a.offset < 0 || b.offset < 0 || a.offset > end || b.offset > end) return;
    if (!Touch(a, b) || HandsOver(a, b) || HandsOver(b, a) || !PiecesOverlap(a, b)) return;
    report_.Add(Rule::kOverlap, j * mapping_.intervals.size() + k,
                absl::StrCat(report_.DescribeInterval(j), " at offset ", a.offset, " and ",
                             report_.DescribeInterval(k), " at offset ", b.offset, " overlap"));
  }

  void CheckCrossProgramPrefetch() {
    std::set<BufferIndex> marked;
    if (program_.baseline() != nullptr) {
      for (const Interval& it : program_.baseline()->mapping.intervals) {
        if (it.cross_program_prefetch) marked.insert(it.buffer);
      }
    }
    size_t count = 0;
    for (size_t k = 0; k < mapping_.intervals.size(); ++k) {
      const Interval& it = mapping_.intervals[k];
      if (!it.cross_program_prefetch) continue;
      ++count;
      std::string fault;
      if (count > 1) fault = "there is another one before it";
      if (it.first != 0) fault = "it must start at instruction 0";
      if (it.copy_in_start >= 0) fault = "it must have no copy in";
      if (!program_.buffers()[it.buffer].live_in) fault = "the buffer is not live in";
      if (marked.count(it.buffer) == 0) fault = "the baseline does not prefetch this buffer";
      if (fault.empty()) continue;
      report_.Add(
          Rule::kCrossProgramPrefetch, k,
          absl::StrCat(report_.DescribeInterval(k), " is a cross-program prefetch: ", fault));
    }
  }

  void CheckFlight(const v1::Collective& collective, BufferIndex buffer) {
    const InstructionIndex start(collective.start());
    const InstructionIndex done(collective.done());
    // True if a copy is queued before the done has run and waited for after the start has begun.
    const auto runs = [&](InstructionIndex queued, InstructionIndex waited_for) {
      return queued >= 0 && queued <= done && waited_for > start;
    };
    for (const size_t k : intervals_of_[buffer]) {
      const Interval& it = mapping_.intervals[k];
      const bool apart = it.last < start || it.first > done;
      const bool covers = it.first <= start && it.last >= done;
      if ((apart || covers) && !runs(it.copy_in_start, it.copy_in_done) &&
          !runs(it.copy_out_start, it.copy_out_done)) {
        continue;
      }
      report_.Add(Rule::kMoveInFlight, k,
                  absl::StrCat(report_.DescribeInterval(k), " begins, ends or is copied while '",
                               collective.name(), "' is in flight"));
    }
    CheckMemoryInFlight(collective, buffer);
  }

  void CheckMemoryInFlight(const v1::Collective& collective, BufferIndex buffer) {
    std::optional<uint8_t> memory;
    for (const AccessIndex a : program_.AccessesOfBuffer(buffer)) {
      const InstructionIndex at = program_.accesses()[a].instruction;
      if (at < InstructionIndex(collective.start()) || at > InstructionIndex(collective.done())) {
        continue;
      }
      if (!memory) memory = mapping_.in_fast_memory[a];
      if (mapping_.in_fast_memory[a] == *memory) continue;
      // Intervals are subjects of this rule, too, so that the numbers of accesses start after those
      // of intervals.
      report_.Add(
          Rule::kMoveInFlight, mapping_.intervals.size() + a.number(),
          absl::StrCat(report_.DescribeAccess(a), " is in another memory than the start of '",
                       collective.name(), "', which is in flight"));
    }
  }

  void CheckGroup(CarriedGroupIndex g) {
    const CarriedGroup& group = program_.carried_groups()[g];
    const CarriedPlace place = PlaceOfGroup(program_, mapping_, intervals_of_, group);
    if (!place.in_fast_memory) return;
    const Loop& loop = program_.loops()[group.loop];
    const auto missing = [&](absl::string_view role, BufferIndex buffer, InstructionIndex marker,
                             const std::vector<size_t>& intervals) {
      if (!intervals.empty()) return false;
      report_.Add(
          Rule::kCarriedGroupSpace, g,
          absl::StrCat(report_.DescribeGroup(g), " is in fast memory, but no interval of its ",
                       role, " ", report_.DescribeBuffer(buffer), " contains ",
                       report_.DescribeInstruction(marker)));
      return true;
    };
    if (missing("initial", group.initial_buffer, loop.begin, place.initial) ||
        missing("parameter", group.parameter_buffer, loop.begin, place.parameter) ||
        missing("root", group.root_buffer, loop.end, place.root) ||
        missing("result", group.result_buffer, loop.end, place.result)) {
      return;
    }
    if (!place.Unambiguous()) {
      // Accesses are subjects of this rule, too, so that the numbers of groups start after those of
      // accesses.
      report_.Add(Rule::kAmbiguousInterval, g + program_.access_count(),
                  absl::StrCat(report_.DescribeGroup(g), " has several intervals of one buffer at ",
                               report_.DescribeInstruction(loop.begin), " or ",
                               report_.DescribeInstruction(loop.end)));
      return;
    }
    CheckGroupOffsets(g, place);
  }

  void CheckGroupOffsets(CarriedGroupIndex g, const CarriedPlace& place) {
    const int64_t offset = mapping_.intervals[place.parameter[0]].offset;
    for (const size_t k : {place.initial[0], place.root[0], place.result[0]}) {
      if (mapping_.intervals[k].offset == offset) continue;
      report_.Add(Rule::kCarriedGroupOffset, g,
                  absl::StrCat(report_.DescribeGroup(g), ": ", report_.DescribeInterval(k),
                               " is at offset ", mapping_.intervals[k].offset, ", ",
                               report_.DescribeInterval(place.parameter[0]), " at ", offset));
      return;
    }
  }

  const Program& program_;
  const Mapping& mapping_;
  Report& report_;
  const IntervalsOfBuffers intervals_of_;
  IndexVector<BufferIndex, Range> ranges_;
  std::vector<Handover> handovers_;  // ascending
};

}  // namespace

void CheckGeometry(const Program& program, const Mapping& mapping, Report& report) {
  GeometryCheck(program, mapping, report).Run();
}

}  // namespace mallocmuzero::validate
