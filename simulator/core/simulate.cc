#include "simulator/core/simulate.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/copy_queue.h"

namespace mallocmuzero {
namespace {

// The moments at which a mapping's copies are queued and waited for, ordered by the instruction
// they precede; at one instruction all queueing comes before all waiting, each in the order of the
// intervals.
class CopySchedule {
 public:
  struct Event {
    uint32_t interval;
    CopyDirection direction;
    int64_t bytes;  // of the copy or of one slice; 0 if waited for
  };

  CopySchedule(absl::Span<const Interval> intervals, absl::Span<const Buffer> buffers,
               uint32_t instruction_count)
      : intervals_(intervals),
        buffers_(buffers),
        starts_(2 * (size_t{instruction_count} + 1) + 1, 0) {
    ForEachEvent([this](size_t slot, Event event) {
      ++starts_[slot + 1];
      copies_ += event.bytes == 0;
    });
    for (size_t slot = 1; slot < starts_.size(); ++slot) starts_[slot] += starts_[slot - 1];
    events_.resize(starts_.back());
    ForEachEvent([this](size_t slot, Event event) { events_[starts_[slot]++] = event; });
    // Each start has moved to the next one's; put them back.
    std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
    starts_[0] = 0;
    for (size_t slot = 0; slot + 1 < starts_.size(); slot += 2) {
      std::stable_sort(events_.begin() + starts_[slot], events_.begin() + starts_[slot + 1],
                       [&](const Event& a, const Event& b) { return Done(a) < Done(b); });
    }
  }
  int32_t Done(const Event& event) const {
    const Interval& interval = intervals_[event.interval];
    return event.direction == CopyDirection::kIn ? interval.copy_in_done : interval.copy_out_done;
  }

  // Copies queued just before `instruction`.
  absl::Span<const Event> Queued(uint32_t instruction) const {
    return Slot(2 * size_t{instruction});
  }

  // Copies waited for just before `instruction`.
  absl::Span<const Event> Awaited(uint32_t instruction) const {
    return Slot(2 * size_t{instruction} + 1);
  }

  // Copies in all, a sliced one counted once.
  uint32_t copies() const { return copies_; }

 private:
  template <typename Visit>
  void ForEachEvent(const Visit& visit) const {
    for (uint32_t i = 0; i < intervals_.size(); ++i) {
      const Interval& interval = intervals_[i];
      const int64_t bytes = buffers_[interval.buffer].bytes;
      if (interval.copy_in_start >= 0 && !interval.cross_program_prefetch) {
        for (const CopySlice& slice : interval.copy_in_slices) {
          visit(2 * size_t{slice.start}, Event{i, CopyDirection::kIn, slice.bytes});
        }
        if (interval.copy_in_slices.empty()) {
          visit(2 * size_t(interval.copy_in_start), Event{i, CopyDirection::kIn, bytes});
        }
        visit(2 * size_t(interval.copy_in_done) + 1, Event{i, CopyDirection::kIn, 0});
      }
      if (interval.copy_out_start >= 0) {
        visit(2 * size_t(interval.copy_out_start), Event{i, CopyDirection::kOut, bytes});
        visit(2 * size_t(interval.copy_out_done) + 1, Event{i, CopyDirection::kOut, 0});
      }
    }
  }

  absl::Span<const Event> Slot(size_t slot) const {
    return absl::MakeConstSpan(events_).subspan(starts_[slot], starts_[slot + 1] - starts_[slot]);
  }

  absl::Span<const Interval> intervals_;
  absl::Span<const Buffer> buffers_;
  uint32_t copies_ = 0;
  std::vector<uint32_t> starts_;  // two slots an instruction and two for the end of the program
  std::vector<Event> events_;
};

// Queues and waits, with the ticket of every copy on its way.
class Copies {
 public:
  Copies(const Program& program, const Mapping& mapping)
      : mapping_(&mapping), bytes_per_cycle_(program.hardware().hbm_bytes_per_cycle()),
        schedule_(mapping.intervals, program.buffers(), program.instruction_count()),
        tickets_(2 * mapping.intervals.size()) {}

  // Queues and waits just before `instruction`; returns the stall of one execution, cycles.
  double Reach(uint32_t instruction) {
    for (const CopySchedule::Event& event : schedule_.Queued(instruction)) {
      // The last slice's ticket stands for all: a queue moves its copies in order.
      TicketOf(event) = queues_.Issue(event.direction, static_cast<double>(event.bytes));
    }
    double stall_bytes = 0;
    for (const CopySchedule::Event& event : schedule_.Awaited(instruction)) {
      double st = queues_.WaitFor(TicketOf(event));
      stall_bytes += st;
      fprintf(stderr, "P %d %.0f buf %d dir %d pend %.0f %.0f\n", instruction, st / bytes_per_cycle_, mapping_->intervals[event.interval].buffer, (int)event.direction, queues_.Pending(CopyDirection::kIn), queues_.Pending(CopyDirection::kOut));
    }
    return stall_bytes / bytes_per_cycle_;
  }

  void Advance(double idle_bytes) { queues_.Advance(idle_bytes); }

  uint32_t count() const { return schedule_.copies(); }

 private:
  CopyTicket& TicketOf(const CopySchedule::Event& event) {
    return tickets_[2 * size_t{event.interval} + static_cast<size_t>(event.direction)];
  }

  const Mapping* mapping_;
  const double bytes_per_cycle_;
  const CopySchedule schedule_;
  std::vector<CopyTicket> tickets_;
  CopyQueues queues_;
};

// Accesses of an instruction that a mapping puts into fast memory, and the bytes of the others.
struct Placement {
  uint64_t fast_mask = 0;
  int64_t hbm_bytes = 0;  // with fixed_hbm_bytes
};

Placement PlacementOf(const Instruction& instruction, const Access* accesses,
                      const uint8_t* in_fast_memory) {
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

}  // namespace

Price Simulate(const Program& program, const Mapping& mapping) {
  Price price;
  Copies copies(program, mapping);
  price.copies = copies.count();
  const double hbm_bytes_per_cycle = program.hardware().hbm_bytes_per_cycle();
  const uint32_t instruction_count = program.instruction_count();
  for (uint32_t i = 0; i < instruction_count; ++i) {
    const Instruction& instruction = program.instructions()[i];
    price.stall_cycles += copies.Reach(i) * instruction.execution_count;
    const Placement placement =
        PlacementOf(instruction, program.accesses().data(), mapping.in_fast_memory.data());
    const double cycles = program.latency().Cycles(i, placement.fast_mask);
    copies.Advance(IdleBytesOf(cycles, hbm_bytes_per_cycle, placement.hbm_bytes));
    double& part = instruction.kind == InstructionKind::kModelled ? price.modelled_cycles
                                                                  : price.estimated_cycles;
    part += cycles * instruction.execution_count;
  }
  price.stall_cycles += copies.Reach(instruction_count);
  price.total_cycles = price.estimated_cycles + price.modelled_cycles + price.stall_cycles;
  return price;
}

Price SimulateAllHbm(const Program& program) { return Simulate(program, AllHbmMapping(program)); }

double AllFastCycles(const Program& program) {
  Mapping mapping = AllHbmMapping(program);
  for (uint32_t a = 0; a < program.access_count(); ++a) {
    mapping.in_fast_memory[a] = !program.buffers()[program.accesses()[a].buffer].pinned_to_hbm;
  }
  return Simulate(program, mapping).total_cycles;
}

Traffic MeasureTraffic(const Program& program, const Mapping& mapping) {
  Traffic traffic;
  for (const Instruction& instruction : program.instructions()) {
    const Placement placement =
        PlacementOf(instruction, program.accesses().data(), mapping.in_fast_memory.data());
    int64_t bytes = instruction.fixed_hbm_bytes;
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      bytes += program.accesses()[instruction.first_access + k].bytes_accessed;
    }
    traffic.bytes_accessed += static_cast<double>(bytes) * instruction.execution_count;
    traffic.hbm_bytes += static_cast<double>(placement.hbm_bytes) * instruction.execution_count;
  }
  return traffic;
}

double IdleBytes(const Program& program, uint32_t instruction, uint64_t fast_mask, double cycles) {
  int64_t hbm_bytes = program.instructions()[instruction].fixed_hbm_bytes;
  uint64_t rest = fast_mask;
  for (const Access& access : program.AccessesOfInstruction(instruction)) {
    if ((rest & 1) == 0) hbm_bytes += access.bytes_accessed;
    rest >>= 1;
  }
  return IdleBytesOf(cycles, program.hardware().hbm_bytes_per_cycle(), hbm_bytes);
}

}  // namespace mallocmuzero
