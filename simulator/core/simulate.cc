#include "simulator/core/simulate.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/enums.h"
#include "simulator/core/copy_order.h"
#include "simulator/core/copy_queue.h"

namespace mallocmuzero {
namespace {

// The moments at which a mapping's copies are queued and waited for, ordered by the instruction
// that they precede. Before one instruction, first come the waits for copies that were queued
// earlier, then the queueing, then the waits for copies that were just queued. Copies are queued in
// the order in which they are needed, and if that is equal in the order of the intervals.
class CopySchedule {
 public:
  struct Event {
    uint32_t interval;
    CopyDirection direction;
    int64_t bytes;  // of the copy or of one slice; 0 if the event is a wait
  };

  CopySchedule(absl::Span<const Interval> intervals, IndexSpan<BufferIndex, const Buffer> buffers,
               InstructionIndex end)
      : intervals_(intervals), buffers_(buffers), starts_(SlotOf(end + 1, 0) + 1, 0) {
    ForEachEvent([this](size_t slot, Event event) {
      ++starts_[slot + 1];
      copies_ += event.bytes == 0;
    });
    for (size_t slot = 1; slot < starts_.size(); ++slot) starts_[slot] += starts_[slot - 1];
    events_.resize(starts_.back());
    ForEachEvent([this](size_t slot, Event event) { events_[starts_[slot]++] = event; });
    // Filling the slots has moved the start of each slot to the start of the next one; shift them
    // back.
    std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
    starts_[0] = 0;
    for (InstructionIndex i = 0; i <= end; ++i) {
      const size_t slot = SlotOf(i, kQueued);
      SortQueued(absl::MakeSpan(events_).subspan(starts_[slot], starts_[slot + 1] - starts_[slot]),
                 [this](const Event& event) { return DoneOf(event); });
    }
  }

  // Waits just before `instruction` for copies that were queued earlier.
  absl::Span<const Event> Due(InstructionIndex instruction) const {
    return Slot(instruction, kDue);
  }

  // Copies queued just before `instruction`.
  absl::Span<const Event> Queued(InstructionIndex instruction) const {
    return Slot(instruction, kQueued);
  }

  // Waits just before `instruction` for copies that were queued just before it too.
  absl::Span<const Event> DueAtOnce(InstructionIndex instruction) const {
    return Slot(instruction, kDueAtOnce);
  }

  // Number of copies; a sliced copy counts once.
  uint32_t copies() const { return copies_; }

 private:
  static constexpr size_t kSlots = 3;  // for each instruction and for the end of the program
  static constexpr size_t kDue = 0;
  static constexpr size_t kQueued = 1;
  static constexpr size_t kDueAtOnce = 2;

  static size_t SlotOf(InstructionIndex instruction, size_t kind) {
    return kSlots * instruction.number() + kind;
  }

  template <typename Visit>
  void ForEachEvent(const Visit& visit) const {
    for (uint32_t i = 0; i < intervals_.size(); ++i) {
      const Interval& interval = intervals_[i];
      const int64_t bytes = buffers_[interval.buffer].bytes;
      const auto queue = [&](InstructionIndex start, CopyDirection direction, int64_t slice_bytes) {
        visit(SlotOf(start, kQueued), Event{i, direction, slice_bytes});
      };
      const auto wait = [&](InstructionIndex start, InstructionIndex done,
                            CopyDirection direction) {
        visit(SlotOf(done, start < done ? kDue : kDueAtOnce), Event{i, direction, 0});
      };
      if (interval.copy_in_start >= 0 && !interval.cross_program_prefetch) {
        InstructionIndex last_start = interval.copy_in_start;
        for (const CopySlice& slice : interval.copy_in_slices) {
          queue(slice.start, CopyDirection::kIn, slice.bytes);
          last_start = slice.start;
        }
        if (interval.copy_in_slices.empty()) queue(last_start, CopyDirection::kIn, bytes);
        wait(last_start, interval.copy_in_done, CopyDirection::kIn);
      }
      if (interval.copy_out_start >= 0) {
        queue(interval.copy_out_start, CopyDirection::kOut, bytes);
        wait(interval.copy_out_start, interval.copy_out_done, CopyDirection::kOut);
      }
    }
  }

  InstructionIndex DoneOf(const Event& event) const {
    const Interval& interval = intervals_[event.interval];
    return event.direction == CopyDirection::kIn ? interval.copy_in_done : interval.copy_out_done;
  }

  absl::Span<const Event> Slot(InstructionIndex instruction, size_t kind) const {
    const size_t slot = SlotOf(instruction, kind);
    return absl::MakeConstSpan(events_).subspan(starts_[slot], starts_[slot + 1] - starts_[slot]);
  }

  absl::Span<const Interval> intervals_;
  IndexSpan<BufferIndex, const Buffer> buffers_;
  uint32_t copies_ = 0;
  std::vector<uint32_t> starts_;  // for each slot its first index in events_
  std::vector<Event> events_;
};

// Queues copies, waits for them, and keeps the ticket of every copy that is on its way.
class Copies {
 public:
  Copies(const Program& program, const Mapping& mapping)
      : bytes_per_cycle_(program.hardware().hbm_bytes_per_cycle()),
        schedule_(mapping.intervals, program.buffers(), program.instructions().end_index()),
        tickets_(2 * mapping.intervals.size()) {}

  // Queues and waits just before `instruction`. Returns the stall of one execution in cycles.
  // Reports every copy and every wait to `observer`.
  template <typename Observer>
  double Reach(InstructionIndex instruction, Observer& observer) {
    double stall_bytes = 0;
    for (const CopySchedule::Event& event : schedule_.Due(instruction)) {
      stall_bytes += WaitFor(event, observer);
    }
    observer.WaitedBeforeQueueing(stall_bytes, queues_);
    for (const CopySchedule::Event& event : schedule_.Queued(instruction)) {
      // The last slice's ticket stands for all slices, because a queue moves its copies in order.
      TicketOf(event) = queues_.Issue(event.direction, static_cast<double>(event.bytes));
      observer.Queued(event, instruction, TicketOf(event));
    }
    for (const CopySchedule::Event& event : schedule_.DueAtOnce(instruction)) {
      stall_bytes += WaitFor(event, observer);
    }
    observer.WaitedAfterQueueing(stall_bytes, queues_);
    return stall_bytes / bytes_per_cycle_;
  }

  void Advance(double idle_bytes) { queues_.Advance(idle_bytes); }

  uint32_t count() const { return schedule_.copies(); }
  const CopyQueues& queues() const { return queues_; }

 private:
  template <typename Observer>
  double WaitFor(const CopySchedule::Event& event, Observer& observer) {
    const double bytes = queues_.WaitFor(TicketOf(event));
    observer.Waited(event, bytes);
    return bytes;
  }

  CopyTicket& TicketOf(const CopySchedule::Event& event) {
    return tickets_[2 * size_t{event.interval} + Underlying(event.direction)];
  }

  const double bytes_per_cycle_;
  const CopySchedule schedule_;
  std::vector<CopyTicket> tickets_;
  CopyQueues queues_;
};

// The accesses of an instruction that a mapping puts into fast memory, and the bytes that the
// others move.
struct Placement {
  uint64_t fast_mask = 0;
  int64_t hbm_bytes = 0;  // includes fixed_hbm_bytes
};

Placement PlacementOf(const Instruction& instruction, IndexSpan<AccessIndex, const Access> accesses,
                      IndexSpan<AccessIndex, const uint8_t> in_fast_memory) {
  Placement placement = {0, instruction.fixed_hbm_bytes};
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    const uint64_t fast = in_fast_memory[instruction.first_access + k] != 0;
    placement.fast_mask |= fast << k;
    placement.hbm_bytes += fast ? 0 : accesses[instruction.first_access + k].bytes_accessed;
  }
  return placement;
}

double IdleBytesOf(double cycles, double hbm_bytes_per_cycle, int64_t hbm_bytes) {
  return std::max(0.0, cycles * hbm_bytes_per_cycle - static_cast<double>(hbm_bytes));
}

// Ignores the reports of Walk.
struct NoObserver {
  static void Waited(const CopySchedule::Event&, double) {}
  static void WaitedForCollectives(double, const CopyQueues&) {}
  static void WaitedBeforeQueueing(double, const CopyQueues&) {}
  static void Queued(const CopySchedule::Event&, InstructionIndex, const CopyTicket&) {}
  static void WaitedAfterQueueing(double, const CopyQueues&) {}
  static void Ran(double, int64_t, double, const CopyQueues&) {}
};

// Records the reports of Walk as a Trace.
class Tracer {
 public:
  Tracer(const Program& program, const Mapping& mapping)
      : bytes_per_cycle_(program.hardware().hbm_bytes_per_cycle()),
        last_copies_(2 * mapping.intervals.size()) {
    trace_.steps.reserve(size_t{program.instruction_count()} + 1);
    trace_.steps.emplace_back();
  }

  void Waited(const CopySchedule::Event& event, double bytes) {
    trace_.copies[LastCopyOf(event)].wait_cycles = bytes / bytes_per_cycle_;
  }

  void WaitedForCollectives(double cycles, const CopyQueues& queues) {
    TraceStep& step = trace_.steps.back();
    step.wait_for_collectives = cycles;
    step.moved_after_collectives = Moved(queues);
  }

  void WaitedBeforeQueueing(double bytes, const CopyQueues& queues) {
    TraceStep& step = trace_.steps.back();
    step.wait_before_queueing = bytes / bytes_per_cycle_;
    step.moved_before_queueing = Moved(queues);
  }

  void Queued(const CopySchedule::Event& event, InstructionIndex instruction,
              const CopyTicket& ticket) {
    LastCopyOf(event) = trace_.copies.size();
    trace_.copies.push_back({.interval = event.interval,
                             .direction = event.direction,
                             .queued_at = instruction,
                             .begin = ticket.end - static_cast<double>(event.bytes),
                             .end = ticket.end});
  }

  void WaitedAfterQueueing(double bytes_in_all, const CopyQueues& queues) {
    TraceStep& step = trace_.steps.back();
    step.wait_after_queueing = bytes_in_all / bytes_per_cycle_ - step.wait_before_queueing;
    step.moved_after_queueing = step.moved = Moved(queues);
  }

  void Ran(double cycles, int64_t hbm_bytes, double idle_bytes, const CopyQueues& queues) {
    TraceStep& step = trace_.steps.back();
    step.cycles = cycles;
    step.hbm_bytes = static_cast<double>(hbm_bytes);
    step.idle_bytes = idle_bytes;
    step.moved = Moved(queues);
    trace_.steps.emplace_back();
  }

  Trace Finish(const Price& price) {
    trace_.price = price;
    return std::move(trace_);
  }

 private:
  static std::array<double, 2> Moved(const CopyQueues& queues) {
    return {queues.Moved(CopyDirection::kIn), queues.Moved(CopyDirection::kOut)};
  }

  size_t& LastCopyOf(const CopySchedule::Event& event) {
    return last_copies_[2 * size_t{event.interval} + Underlying(event.direction)];
  }

  const double bytes_per_cycle_;
  // for each interval and direction an index into the trace's copies
  std::vector<size_t> last_copies_;
  Trace trace_;
};

template <typename Observer>
Price Walk(const Program& program, const Mapping& mapping, Observer& observer) {
  Price price;
  Copies copies(program, mapping);
  price.copies = copies.count();
  Links links;
  const double hbm_bytes_per_cycle = program.hardware().hbm_bytes_per_cycle();
  const auto reach_collectives = [&](InstructionIndex point, double executions) {
    const double wait = links.Reach(point, program.link_events());
    if (wait > 0) copies.Advance(wait * hbm_bytes_per_cycle);
    observer.WaitedForCollectives(wait, copies.queues());
    price.collective_stall_cycles += wait * executions;
  };
  for (const InstructionIndex i : program.instructions().indices()) {
    const Instruction& instruction = program.instructions()[i];
    reach_collectives(i, instruction.execution_count);
    const double stall = copies.Reach(i, observer);
    links.Advance(stall);
    price.stall_cycles += stall * instruction.execution_count;
    const Placement placement =
        PlacementOf(instruction, program.accesses(), mapping.in_fast_memory);
    const double cycles = program.latency().Cycles(i, placement.fast_mask);
    const double idle_bytes = IdleBytesOf(cycles, hbm_bytes_per_cycle, placement.hbm_bytes);
    copies.Advance(idle_bytes);
    links.Advance(cycles);
    observer.Ran(cycles, placement.hbm_bytes, idle_bytes, copies.queues());
    double& part = instruction.kind == InstructionKind::kModelled ? price.modelled_cycles
                                                                  : price.estimated_cycles;
    part += cycles * instruction.execution_count;
  }
  reach_collectives(program.instructions().end_index(), 1);
  price.stall_cycles += copies.Reach(program.instructions().end_index(), observer);
  price.stall_cycles += price.collective_stall_cycles;
  price.total_cycles = price.estimated_cycles + price.modelled_cycles + price.stall_cycles;
  return price;
}

}  // namespace

Price Simulate(const Program& program, const Mapping& mapping) {
  NoObserver observer;
  return Walk(program, mapping, observer);
}

Trace SimulateTrace(const Program& program, const Mapping& mapping) {
  Tracer tracer(program, mapping);
  const Price price = Walk(program, mapping, tracer);
  return tracer.Finish(price);
}

Price SimulateAllHbm(const Program& program) { return Simulate(program, AllHbmMapping(program)); }

double AllFastCycles(const Program& program) {
  Mapping mapping = AllHbmMapping(program);
  for (const AccessIndex a : program.accesses().indices()) {
    mapping.in_fast_memory[a] = !program.buffers()[program.accesses()[a].buffer].pinned_to_hbm;
  }
  return Simulate(program, mapping).total_cycles;
}

Traffic MeasureTraffic(const Program& program, const Mapping& mapping, InstructionIndex index) {
  const Instruction& instruction = program.instructions()[index];
  const Placement placement = PlacementOf(instruction, program.accesses(), mapping.in_fast_memory);
  int64_t bytes = instruction.fixed_hbm_bytes;
  for (const Access& access : program.AccessesOfInstruction(index)) bytes += access.bytes_accessed;
  return {.bytes_accessed = static_cast<double>(bytes) * instruction.execution_count,
          .hbm_bytes = static_cast<double>(placement.hbm_bytes) * instruction.execution_count};
}

Traffic MeasureTraffic(const Program& program, const Mapping& mapping) {
  Traffic traffic;
  for (const InstructionIndex i : program.instructions().indices()) {
    const Traffic part = MeasureTraffic(program, mapping, i);
    traffic.bytes_accessed += part.bytes_accessed;
    traffic.hbm_bytes += part.hbm_bytes;
  }
  return traffic;
}

double IdleBytes(const Program& program, InstructionIndex instruction, uint64_t fast_mask,
                 double cycles) {
  int64_t hbm_bytes = program.instructions()[instruction].fixed_hbm_bytes;
  uint64_t rest = fast_mask;
  for (const Access& access : program.AccessesOfInstruction(instruction)) {
    if ((rest & 1) == 0) hbm_bytes += access.bytes_accessed;
    rest >>= 1;
  }
  return IdleBytesOf(cycles, program.hardware().hbm_bytes_per_cycle(), hbm_bytes);
}

}  // namespace mallocmuzero
