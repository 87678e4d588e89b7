#include "dashboard/memory_map.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/enums.h"
#include "simulator/core/index_fields.h"
#include "simulator/core/simulate.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/shape.h"
#include "simulator/hlo/shape_parser.h"
#include "view/comparison.h"
#include "view/explain.h"
#include "view/lanes.h"
#include "view/names.h"

namespace mallocmuzero {
namespace {

constexpr int kMostReasons = 12;
constexpr size_t kMostOpName = 200;  // bytes of the framework's name of an operation

// Positions with one decimal: a tenth of a cycle cannot be seen.
double Position(double value) { return std::round(value * 10) / 10; }

double Share(double value) { return std::round(value * 1000) / 1000; }

// The memory space of a TPU that S(n) means.
std::string FastMemoryName(const v1::Hardware& hardware) {
  if (hardware.fast_memory_space() == 3) return "CMEM";
  return hardware.fast_memory_space() == 1 ? "VMEM" : "fast memory";
}

void DescribeInstructions(const Program& program, v1::DashboardProgram::Instructions& to) {
  const view::Names names(program);
  for (const InstructionIndex i : program.instructions().indices()) {
    const v1::Instruction& proto = program.MessageOf(i);
    to.add_name(names.Instruction(i));
    to.add_opcode(view::Shorten(proto.opcode(), view::Names::kMaxName));
    to.add_op_name(view::Shorten(proto.op_name(), kMostOpName));
    to.add_executions(program.instructions()[i].execution_count);
  }
}

void DescribeBuffers(const Program& program, v1::DashboardProgram::Buffers& to) {
  const view::Names names(program);
  absl::flat_hash_map<absl::string_view, absl::string_view> op_name_of;  // of each instruction
  for (const v1::Instruction& instruction : program.proto().instructions()) {
    op_name_of.emplace(instruction.name(), instruction.op_name());
  }
  IndexVector<BufferIndex, const v1::Tensor*> first(program.buffer_count(), nullptr);
  for (const v1::Tensor& tensor : program.proto().tensors()) {
    const v1::Tensor*& found = first[BufferIndex(tensor.buffer())];
    if (found == nullptr) found = &tensor;
  }
  for (const BufferIndex b : program.buffers().indices()) {
    const Buffer& buffer = program.buffers()[b];
    to.add_name(names.Tensor(b));
    to.add_shape(names.Shape(b));
    const auto op_name =
        first[b] == nullptr ? op_name_of.end() : op_name_of.find(first[b]->instruction_name());
    to.add_op_name(op_name == op_name_of.end() ? "" : view::Shorten(op_name->second, kMostOpName));
    to.add_bytes(static_cast<double>(buffer.bytes));
    to.add_unpadded_bytes(first[b] == nullptr ? std::numeric_limits<double>::quiet_NaN()
                                              : UnpaddedBytes(first[b]->shape()));
    to.add_kind(Underlying(names.Kind(b)));
    Append(*to.mutable_first(), buffer.first);
    Append(*to.mutable_last(), buffer.last);
  }
}

void DescribeLoops(const Program& program, v1::DashboardProgram& to) {
  for (const LoopIndex k : program.loops().indices()) {
    const Loop& loop = program.loops()[k];
    const v1::Loop& proto = program.MessageOf(k);
    v1::DashboardProgram::Loop& described = *to.add_loops();
    described.set_name(view::Shorten(proto.name(), view::Names::kMaxName));
    described.set_begin(loop.begin.number());
    described.set_end(loop.end.number());
    described.set_trip_count(static_cast<double>(loop.trip_count));
    described.set_trip_count_known(proto.trip_count_known());
    described.set_depth(view::DepthOf(program, loop));
  }
}

void AddSteps(const Program& program, const Trace& trace, const view::Timeline& timeline,
              v1::DashboardMap::Steps& to) {
  const double rate = program.hardware().hbm_bytes_per_cycle();
  std::array<double, 2> moved = {0, 0};
  for (const InstructionIndex i : trace.steps.indices()) {
    const TraceStep& step = trace.steps[i];
    to.add_reached(Position(timeline.Reached(i)));
    to.add_running(Position(timeline.Running(i)));
    to.add_wait_cycles(Position(step.WaitCycles()));
    to.add_wait_copy_share(Share(view::CopiesDuringWait(moved, step, rate)));
    moved = step.moved;
    if (!program.instructions().contains(i)) break;
    const view::BandwidthUse use = view::UseWhileRunning(step, rate);
    to.add_cycles(Position(step.cycles));
    to.add_own_share(Share(use.own));
    to.add_copy_share(Share(use.copies));
  }
}

// The numbers of reads, writes and updates that an interval serves.
using UseCounts = EnumArray<AccessKind, uint32_t, kAccessKindCount>;

UseCounts UsesOf(const Program& program, const Mapping& mapping, const Interval& interval) {
  UseCounts counts;
  for (const AccessIndex a : program.AccessesOfBuffer(interval.buffer)) {
    const Access& access = program.accesses()[a];
    if (mapping.in_fast_memory[a] != 0 && interval.first <= access.instruction &&
        access.instruction <= interval.last) {
      ++counts[access.kind];
    }
  }
  return counts;
}

void AddIntervals(const Program& program, const Mapping& mapping, const view::Timeline& timeline,
                  v1::DashboardMap::Intervals& to) {
  for (const Interval& interval : mapping.intervals) {
    const view::Stay stay = view::StayOf(interval, timeline);
    const UseCounts uses = UsesOf(program, mapping, interval);
    Append(*to.mutable_buffer(), interval.buffer);
    to.add_begin(Position(stay.owned.begin));
    to.add_end(Position(stay.owned.end));
    Append(*to.mutable_first(), interval.first);
    Append(*to.mutable_last(), interval.last);
    to.add_offset(static_cast<double>(interval.offset));
    to.add_cross_program_prefetch(interval.cross_program_prefetch);
    to.add_reads(uses[AccessKind::kRead]);
    to.add_writes(uses[AccessKind::kWrite]);
    to.add_updates(uses[AccessKind::kUpdate]);
  }
}

void AddCopies(const Program& program, const Mapping& mapping, const Trace& trace,
               const view::Timeline& timeline, v1::DashboardMap& map) {
  v1::DashboardMap::Copies& copies = *map.mutable_copies_of();
  v1::DashboardMap::Moves& moves = *map.mutable_moves();
  double bytes = 0;
  for (const CopyDirection direction : {CopyDirection::kIn, CopyDirection::kOut}) {
    const bool out = direction == CopyDirection::kOut;
    for (const view::CopyBar& bar : view::CopiesOf(mapping, trace, timeline, direction)) {
      const Interval& interval = mapping.intervals[bar.interval];
      for (const view::Timeline::Span& span : bar.moving) {
        moves.add_copy(copies.interval_size());
        moves.add_begin(Position(span.begin));
        moves.add_end(Position(span.end));
      }
      copies.add_interval(bar.interval);
      copies.add_out(out);
      copies.add_queued(Position(bar.on_its_way.begin));
      copies.add_needed(Position(bar.on_its_way.end));
      copies.add_wait_cycles(Position(bar.wait_cycles));
      Append(*copies.mutable_queued_at(), out ? interval.copy_out_start : interval.copy_in_start);
      Append(*copies.mutable_needed_at(), out ? interval.copy_out_done : interval.copy_in_done);
      bytes += static_cast<double>(program.buffers()[interval.buffer].bytes);
    }
  }
  map.set_copied_bytes(bytes);
}

// Adds the cycles that the mapping gains compared with the default.
void AddGains(const Program& program, const Mapping& mapping, v1::DashboardMap& map) {
  const Baseline* baseline = program.baseline();
  if (baseline == nullptr) return;
  const view::Comparison comparison = {program, view::Side(program, mapping),
                                       view::Side(program, baseline->mapping)};
  IndexVector<BufferIndex, double> gains(program.buffer_count(), 0);
  const IndexVector<AccessIndex, double> of_accesses = view::GainsOfAccesses(comparison);
  for (const AccessIndex a : program.accesses().indices()) {
    gains[program.accesses()[a].buffer] += of_accesses[a];
  }
  for (const double gain : gains) map.add_buffer_gain(Position(gain));
  for (const view::Reason& reason :
       view::Explain(program, mapping, baseline->mapping, kMostReasons)) {
    v1::DashboardMap::Reason& added = *map.add_reasons();
    const bool is_buffer = reason.kind == view::Reason::Kind::kBuffer;
    if (is_buffer) added.set_buffer(reason.buffer.number());
    added.set_title(is_buffer                                    ? reason.tensor
                    : reason.kind == view::Reason::Kind::kStalls ? "waits"
                                                                 : "all other tensors");
    added.set_cycles_gained(Position(reason.cycles_gained));
    added.set_why(reason.why);
  }
}

}  // namespace

double UnpaddedBytes(const std::string& shape) {
  hlo::Lexer lexer(shape, "shape");
  hlo::Shape parsed;
  if (!hlo::ParseShape(lexer, parsed) || parsed.IsTuple()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const int bits = parsed.layout.element_size_in_bits > 0 ? parsed.layout.element_size_in_bits
                                                          : ElementBits(parsed.element_type);
  return std::ceil(static_cast<double>(ElementCount(parsed)) * bits / 8);
}

v1::DashboardProgram DescribeProgram(const Program& program) {
  v1::DashboardProgram described;
  const v1::Hardware& hardware = program.hardware();
  described.set_name(program.proto().name());
  described.set_hardware(hardware.name());
  described.set_fast_memory_name(FastMemoryName(hardware));
  described.set_fast_memory_bytes(static_cast<double>(hardware.fast_memory_bytes()));
  described.set_clock_hz(hardware.clock_hz());
  described.set_hbm_bytes_per_cycle(hardware.hbm_bytes_per_cycle());
  if (program.baseline() != nullptr) {
    described.set_default_cycles(program.baseline()->compiled_cycles);
  }
  described.set_all_hbm_cycles(SimulateAllHbm(program).total_cycles);
  DescribeInstructions(program, *described.mutable_instructions());
  DescribeBuffers(program, *described.mutable_buffers());
  for (int kind = 0; kind < view::kBufferKindCount; ++kind) {
    described.add_kinds(std::string(view::BufferKindName(static_cast<view::BufferKind>(kind))));
  }
  DescribeLoops(program, described);
  return described;
}

v1::DashboardMap MakeMap(const Program& program, const DrawnMapping& drawn, view::Axis axis) {
  const Mapping& mapping = drawn.mapping;
  const Trace trace = SimulateTrace(program, mapping);
  const view::Timeline timeline(program, trace, axis);
  const Traffic traffic = MeasureTraffic(program, mapping);
  v1::DashboardMap map;
  map.set_cycles(trace.price.total_cycles);
  map.set_stall_cycles(trace.price.stall_cycles);
  map.set_copies(trace.price.copies);
  if (traffic.bytes_accessed > 0) {
    map.set_hbm_share(Share(traffic.hbm_bytes / traffic.bytes_accessed));
  }
  map.set_has_addresses(drawn.has_addresses);
  map.set_end(Position(timeline.end()));
  AddSteps(program, trace, timeline, *map.mutable_steps());
  AddIntervals(program, mapping, timeline, *map.mutable_intervals());
  AddCopies(program, mapping, trace, timeline, map);
  AddGains(program, mapping, map);
  return map;
}

}  // namespace mallocmuzero
