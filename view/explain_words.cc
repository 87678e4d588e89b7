#include "view/explain_words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/enums.h"
#include "view/format.h"

namespace mallocmuzero::view {
namespace {

std::string Cycles(double cycles) { return FormatCounted(std::round(cycles), "cycle"); }

double Executions(const Program& program, InstructionIndex instruction) {
  return program.instructions().contains(instruction)
             ? program.instructions()[instruction].execution_count
             : 1;
}

// The instruction before which the program waits for a copy of `interval`.
InstructionIndex NeededAt(const Interval& interval, CopyDirection direction) {
  return direction == CopyDirection::kIn ? interval.copy_in_done : interval.copy_out_done;
}

// The cycles that the program waits for a copy, over all executions.
double WaitOf(const Program& program, const Side& side, const TraceCopy& copy) {
  return copy.wait_cycles *
         Executions(program, NeededAt(side.mapping.intervals[copy.interval], copy.direction));
}

// Text such as "2 copies in and 1 copy out".
std::string CopyCounts(const Mapping& mapping, const std::vector<size_t>& intervals) {
  int in = 0;
  int out = 0;
  for (const size_t k : intervals) {
    const Interval& it = mapping.intervals[k];
    in += it.copy_in_start >= 0 && !it.cross_program_prefetch ? 1 : 0;
    out += it.copy_out_start >= 0 ? 1 : 0;
  }
  return absl::StrCat(FormatCounted(in, "copy", "copies"), " in and ",
                      FormatCounted(out, "copy", "copies"), " out");
}

// Describes how the two mappings differ in one buffer.
class BufferStory {
 public:
  BufferStory(const Comparison& comparison, const Names& names, BufferIndex buffer, double gain)
      : program_(comparison.program),
        ours_(comparison.ours),
        reference_(comparison.reference),
        names_(names),
        buffer_(buffer),
        gain_(gain) {
    for (const AccessIndex a : program_.AccessesOfBuffer(buffer)) {
      const bool ours = ours_.mapping.in_fast_memory[a] != 0;
      const bool reference = reference_.mapping.in_fast_memory[a] != 0;
      if (ours && !reference) to_fast_.push_back(a);
      if (!ours && reference) to_hbm_.push_back(a);
    }
  }

  std::string Tell() const {
    if (to_fast_.empty() && to_hbm_.empty()) return OtherCopies();
    std::vector<std::string> parts;
    if (!to_fast_.empty()) {
      const std::vector<size_t> serving = Serving();
      parts.push_back(absl::StrCat(Stay(serving), " instead of HBM: ", Uses(to_fast_)));
      parts.push_back(Copies(serving));
    }
    if (!to_hbm_.empty()) {
      parts.push_back(absl::StrCat(to_fast_.empty() ? "stays in HBM" : "in HBM elsewhere", " for ",
                                   Uses(to_hbm_)));
      if (gain_ <= 0) parts.push_back(FreedRoom());
    }
    parts.push_back(Witness());
    parts.erase(std::remove(parts.begin(), parts.end(), ""), parts.end());
    return absl::StrJoin(parts, "; ");
  }

 private:
  const Access& At(AccessIndex access) const { return program_.accesses()[access]; }

  // Text such as "2 reads and 1 write, 75.0 MiB in all".
  std::string Uses(const std::vector<AccessIndex>& accesses) const {
    EnumArray<AccessKind, int, kAccessKindCount> counts;
    double bytes = 0;
    for (const AccessIndex a : accesses) {
      ++counts[At(a).kind];
      bytes += static_cast<double>(At(a).bytes_accessed) * Executions(program_, At(a).instruction);
    }
    std::vector<std::string> uses;
    const auto add = [&](AccessKind kind, const char* noun) {
      const int count = counts[kind];
      if (count > 0) uses.push_back(FormatCounted(count, noun));
    };
    add(AccessKind::kRead, "read");
    add(AccessKind::kWrite, "write");
    add(AccessKind::kUpdate, "update");
    return absl::StrCat(absl::StrJoin(uses, " and "), ", ", FormatBytes(bytes), " in all");
  }

  // Intervals of ours that serve accesses which the reference has in HBM.
  std::vector<size_t> Serving() const {
    std::vector<size_t> serving;
    for (const size_t k : ours_.intervals_of_buffer[buffer_]) {
      const Interval& it = ours_.mapping.intervals[k];
      const bool serves = std::any_of(to_fast_.begin(), to_fast_.end(), [&](AccessIndex a) {
        return it.first <= At(a).instruction && At(a).instruction <= it.last;
      });
      if (serves) serving.push_back(k);
    }
    return serving;
  }

  // Text such as "from add.3 to fusion.9" for one or more intervals of `side`.
  std::string Stretch(const Side& side, const std::vector<size_t>& intervals) const {
    InstructionIndex last = 0;
    for (const size_t k : intervals) last = std::max(last, side.mapping.intervals[k].last);
    return absl::StrCat("from ",
                        names_.Instruction(side.mapping.intervals[intervals.front()].first), " to ",
                        names_.Instruction(last));
  }

  // Text such as "in fast memory from add.3 to fusion.9".
  std::string Stay(const std::vector<size_t>& serving) const {
    if (serving.empty()) return "in fast memory";
    if (serving.size() > 1) {
      return absl::StrCat("in fast memory ", FormatCount(static_cast<double>(serving.size())),
                          " times, ", Stretch(ours_, serving));
    }
    return absl::StrCat("in fast memory ", Stretch(ours_, serving));
  }

  // Describes how the serving intervals get their bytes and write them back.
  std::string Copies(const std::vector<size_t>& serving) const {
    if (serving.empty()) return "";
    if (serving.size() > 1) return CopyCounts(ours_.mapping, serving);
    const Interval& it = ours_.mapping.intervals[serving.front()];
    std::vector<std::string> parts;
    if (it.cross_program_prefetch) {
      parts.push_back("there when the program starts (cross-program prefetch)");
    } else if (it.copy_in_start >= 0) {
      parts.push_back(CopyWords("brought in", serving.front(), CopyDirection::kIn));
    }
    if (it.copy_out_start >= 0) {
      parts.push_back(CopyWords("written back", serving.front(), CopyDirection::kOut));
    }
    return parts.empty() ? "not copied" : absl::StrJoin(parts, "; ");
  }

  // Text such as "brought in behind 14 instructions without a wait".
  std::string CopyWords(const char* verb, size_t interval, CopyDirection direction) const {
    double wait = 0;
    for (const TraceCopy& copy : ours_.trace.copies) {
      if (copy.interval == interval && copy.direction == direction) {
        wait += WaitOf(program_, ours_, copy);
      }
    }
    const Interval& it = ours_.mapping.intervals[interval];
    const InstructionIndex start =
        direction == CopyDirection::kIn ? it.copy_in_start : it.copy_out_start;
    const int32_t behind = NeededAt(it, direction) - start;
    return absl::StrCat(
        verb, behind == 0 ? " at once" : " behind " + FormatCounted(behind, "instruction"),
        wait > 0 ? absl::StrCat(", waited for ", Cycles(wait)) : " without a wait");
  }

  // Describes the fast memory that the reference's intervals use and that is free in ours.
  std::string FreedRoom() const {
    const std::vector<size_t>& taken = reference_.intervals_of_buffer[buffer_];
    if (taken.empty() || !ours_.intervals_of_buffer[buffer_].empty()) return "";
    return absl::StrCat("leaves its ",
                        FormatBytes(static_cast<double>(program_.buffers()[buffer_].bytes)),
                        " of fast memory to others, ", Stretch(reference_, taken));
  }

  // Names the instruction that contributes most to the gain or the loss: how many more or fewer
  // cycles it takes with the buffer in fast memory, if its other accesses are as in ours. "" if no
  // instruction does.
  std::string Witness() const {
    double most = 0;
    InstructionIndex witness = 0;
    bool is_fast = false;
    for (const std::vector<AccessIndex>* accesses : {&to_fast_, &to_hbm_}) {
      for (const AccessIndex a : *accesses) {
        const double gain = SavedInFastMemory(a) * (accesses == &to_fast_ ? 1 : -1) *
                            Executions(program_, At(a).instruction);
        if (gain * gain_ <= 0 || std::abs(gain) <= std::abs(most)) continue;
        most = gain;
        witness = At(a).instruction;
        is_fast = accesses == &to_fast_;
      }
    }
    if (most == 0) return "";
    const double count = Executions(program_, witness);
    return absl::StrCat(names_.Instruction(witness), is_fast ? " takes " : " would take ",
                        Cycles(std::abs(most) / count), (most > 0) == is_fast ? " less" : " more",
                        " with it in fast memory",
                        count == 1 ? "" : absl::StrCat(", ", FormatCount(count), " times"));
  }

  // Cycles of one execution that the instruction saves by having this access in fast memory, with
  // its other accesses as in ours.
  double SavedInFastMemory(AccessIndex access) const {
    const InstructionIndex i = At(access).instruction;
    const uint64_t bit = uint64_t{1} << (access - program_.instructions()[i].first_access);
    const uint64_t mask = FastMask(program_, i, ours_.mapping.in_fast_memory);
    return program_.latency().Cycles(i, mask & ~bit) - program_.latency().Cycles(i, mask | bit);
  }

  std::string OtherCopies() const {
    const std::string ours = CopyCounts(ours_.mapping, ours_.intervals_of_buffer[buffer_]);
    const std::string reference =
        CopyCounts(reference_.mapping, reference_.intervals_of_buffer[buffer_]);
    if (ours != reference) {
      return absl::StrCat("the same accesses in fast memory, ", ours, " instead of ", reference);
    }
    return "the same accesses in fast memory, held or copied at other times";
  }

  const Program& program_;
  const Side& ours_;
  const Side& reference_;
  const Names& names_;
  const BufferIndex buffer_;
  const double gain_;
  std::vector<AccessIndex> to_fast_;  // accesses that only ours has in fast memory
  std::vector<AccessIndex> to_hbm_;   // accesses that only the reference has in fast memory
};

// Text such as "; the longest wait is 1,234 cycles for fusion.3 to come in before fusion.9", or "".
std::string LongestWait(const Program& program, const Names& names, const Side& side,
                        const char* whose) {
  const auto longest =
      std::max_element(side.trace.copies.begin(), side.trace.copies.end(),
                       [&](const TraceCopy& a, const TraceCopy& b) {
                         return WaitOf(program, side, a) < WaitOf(program, side, b);
                       });
  if (longest == side.trace.copies.end() || longest->wait_cycles == 0) return "";
  const Interval& it = side.mapping.intervals[longest->interval];
  const bool in = longest->direction == CopyDirection::kIn;
  return absl::StrCat("; ", whose, " longest wait is ", Cycles(WaitOf(program, side, *longest)),
                      " for ", names.Tensor(it.buffer),
                      in ? " to come in before " : " to be written back before ",
                      names.Instruction(NeededAt(it, longest->direction)));
}

}  // namespace

std::string BufferWords(const Comparison& comparison, const Names& names, BufferIndex buffer,
                        double gain) {
  return BufferStory(comparison, names, buffer, gain).Tell();
}

std::string StallWords(const Comparison& comparison, const Names& names) {
  const Price& ours = comparison.ours.trace.price;
  const Price& reference = comparison.reference.trace.price;
  std::vector<std::string> parts;
  const auto add = [&](double our_cycles, double reference_cycles, const char* what) {
    if (our_cycles <= 0 && reference_cycles <= 0) return;
    parts.push_back(absl::StrCat("waits ", Cycles(our_cycles), " for ", what, " instead of ",
                                 Cycles(reference_cycles)));
  };
  add(ours.collective_stall_cycles, reference.collective_stall_cycles, "collectives");
  add(ours.stall_cycles - ours.collective_stall_cycles,
      reference.stall_cycles - reference.collective_stall_cycles, "copies");
  return absl::StrCat(
      absl::StrJoin(parts, "; "), LongestWait(comparison.program, names, comparison.ours, "the"),
      LongestWait(comparison.program, names, comparison.reference, "the reference's"));
}

}  // namespace mallocmuzero::view
