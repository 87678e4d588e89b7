#include "simulator/bound/link_spans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/core/links.h"

namespace mallocmuzero::bound {
namespace {

// Numbers runs of instructions that are executed equally often, with no loop beginning or ending
// between them. An element more than instructions: the end of the program is reached once.
IndexVector<InstructionIndex, uint32_t> RunsOf(const Program& program) {
  IndexVector<InstructionIndex, uint32_t> runs;
  uint32_t run = 0;
  double executions = 0;
  for (const Instruction& instruction : program.instructions()) {
    if (IsMarker(instruction.kind) || instruction.execution_count != executions) ++run;
    executions = instruction.execution_count;
    runs.push_back(run);
  }
  runs.push_back(executions == 1 ? run : run + 1);
  return runs;
}

// The longest way through instructions and links, point by point. A point is just before an
// instruction.
class LongestWay {
 public:
  LongestWay(const Program& program, IndexSpan<InstructionIndex, const double> cycles)
      : program_(program), cycles_(cycles), runs_(RunsOf(program)) {}

  std::vector<LinkSpan> Find() {
    const InstructionIndex n = program_.instructions().end_index();
    arrivals_.resize(n.number() + size_t{1});
    size_t event = 0;
    const absl::Span<const LinkEvent> events = program_.link_events();
    for (InstructionIndex point = 0; point <= n; ++point) {
      if (point > 0) Run(point);
      // The starts at a point come before its waits.
      const double before_waits = arrivals_[point].cycles;
      for (; event < events.size() && events[event].point <= point; ++event) {
        if (events[event].started > 0) {
          Start(point, before_waits, events[event]);
        } else {
          Wait(point, events[event]);
        }
      }
    }
    return SpansTo(n);
  }

 private:
  // How the longest way comes to a point: from the instruction before, or over a span.
  struct Arrival {
    double cycles = 0;
    std::optional<LinkSpan> span;
  };

  // Work of the links that ends with a collective, and the point where the first one starts.
  struct Work {
    InstructionIndex begin = 0;
    double before = 0;     // cycles of the longest way to `begin`
    double cycles = 0;     // of the collectives, all executions
    double links_end = 0;  // LinkEvent::end
  };

  void Run(InstructionIndex point) {
    const double executions = program_.instructions()[point - 1].execution_count;
    arrivals_[point].cycles = arrivals_[point - 1].cycles + executions * cycles_[point - 1];
  }

  void Start(InstructionIndex point, double before_waits, const LinkEvent& event) {
    Work work{.begin = point, .before = before_waits, .links_end = event.end};
    if (!works_.empty()) {
      const Work& last = works_.back();
      const bool goes_on = runs_[last.begin] == runs_[point];
      if (goes_on && last.before + last.cycles > before_waits) work = last;
    }
    work.links_end = event.end;
    if (point < program_.instructions().end_index()) {
      work.cycles += event.started * program_.instructions()[point].execution_count;
    }
    works_.push_back(work);
  }

  void Wait(InstructionIndex point, const LinkEvent& event) {
    const auto work = std::lower_bound(
        works_.begin(), works_.end(), event.end,
        [](const Work& each, double links_end) { return each.links_end < links_end; });
    if (work == works_.end() || runs_[work->begin] != runs_[point]) return;
    Arrival& arrival = arrivals_[point];
    if (work->before + work->cycles <= arrival.cycles) return;
    arrival.cycles = work->before + work->cycles;
    arrival.span = LinkSpan{work->begin, point, work->cycles};
  }

  std::vector<LinkSpan> SpansTo(InstructionIndex point) const {
    std::vector<LinkSpan> spans;
    bool waited = true;  // the way may come to `point` over a span, not only by an instruction
    while (point > 0) {
      const std::optional<LinkSpan>& span = arrivals_[point].span;
      if (waited && span.has_value()) {
        spans.push_back(*span);
        point = span->begin;
        waited = false;  // a span begins before the waits at its point
      } else {
        --point;
        waited = true;
      }
    }
    std::reverse(spans.begin(), spans.end());
    return spans;
  }

  const Program& program_;
  const IndexSpan<InstructionIndex, const double> cycles_;
  const IndexVector<InstructionIndex, uint32_t> runs_;
  IndexVector<InstructionIndex, Arrival> arrivals_;
  std::vector<Work> works_;  // one for each start
};

}  // namespace

std::vector<LinkSpan> FindLinkSpans(const Program& program,
                                    IndexSpan<InstructionIndex, const double> cycles) {
  if (program.link_events().empty()) return {};
  return LongestWay(program, cycles).Find();
}

Counted OutsideOf(const Program& program, absl::Span<const LinkSpan> spans) {
  Counted counted;
  for (const Instruction& instruction : program.instructions()) {
    counted.executions.push_back(instruction.execution_count);
  }
  counted.waits = counted.executions;
  for (const LinkSpan& span : spans) {
    for (InstructionIndex i = span.begin; i < span.end; ++i) {
      counted.executions[i] = 0;
      counted.waits[i] = 0;
    }
    // The program waits for the links just before `end`, and copies move meanwhile. Within a longer
    // span they may as well move during the instruction before.
    if (span.begin == span.end && counted.waits.contains(span.end)) counted.waits[span.end] = 0;
  }
  return counted;
}

}  // namespace mallocmuzero::bound
