#include "simulator/core/program.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program_checks.h"

namespace mallocmuzero {
namespace {

IndexVector<InstructionIndex, Instruction> InstructionsFromProto(const v1::Program& proto) {
  IndexVector<InstructionIndex, Instruction> instructions;
  instructions.reserve(proto.instructions_size());
  for (const v1::Instruction& from : proto.instructions()) {
    Instruction& to = instructions.emplace_back();
    to.execution_count = static_cast<double>(from.execution_count());
    to.fixed_hbm_bytes = from.fixed_hbm_bytes();
    to.first_access = AccessIndex(from.first_access());
    to.access_count = from.access_count();
    if (from.has_loop()) to.loop = LoopIndex(from.loop());
    to.kind = KindFromProto(from.kind());
  }
  return instructions;
}

IndexVector<AccessIndex, Access> AccessesFromProto(const v1::Program& proto) {
  IndexVector<AccessIndex, Access> accesses;
  accesses.reserve(proto.accesses_size());
  for (const v1::Access& from : proto.accesses()) {
    accesses.push_back({from.bytes(), from.bytes_accessed(), InstructionIndex(from.instruction()),
                        BufferIndex(from.buffer()), AccessKindFromProto(from.kind())});
  }
  return accesses;
}

IndexVector<BufferIndex, Buffer> BuffersFromProto(const v1::Program& proto) {
  IndexVector<BufferIndex, Buffer> buffers;
  buffers.reserve(proto.buffers_size());
  for (const v1::Buffer& from : proto.buffers()) {
    buffers.push_back({from.bytes(), InstructionIndex(from.first()), InstructionIndex(from.last()),
                       from.live_in(), from.live_out(), from.pinned_to_hbm()});
  }
  return buffers;
}

IndexVector<CarriedGroupIndex, CarriedGroup> CarriedGroupsFromProto(const v1::Program& proto) {
  IndexVector<CarriedGroupIndex, CarriedGroup> groups;
  groups.reserve(proto.carried_groups_size());
  for (const v1::CarriedGroup& from : proto.carried_groups()) {
    groups.push_back({LoopIndex(from.loop()), BufferIndex(from.initial_buffer()),
                      BufferIndex(from.parameter_buffer()), BufferIndex(from.root_buffer()),
                      BufferIndex(from.result_buffer())});
  }
  return groups;
}

IndexVector<LoopIndex, Loop> LoopsFromProto(const v1::Program& proto) {
  IndexVector<LoopIndex, Loop> loops;
  loops.reserve(proto.loops_size());
  for (const v1::Loop& from : proto.loops()) {
    Loop& to = loops.emplace_back();
    to.begin = InstructionIndex(from.begin());
    to.end = InstructionIndex(from.end());
    if (from.has_parent()) to.parent = LoopIndex(from.parent());
    to.trip_count = from.trip_count();
  }
  return loops;
}

std::vector<Flight> FlightsFromProto(const v1::Program& proto) {
  std::vector<Flight> flights;
  for (const v1::Collective& collective : proto.collectives()) {
    for (const uint32_t buffer : collective.buffers()) {
      flights.push_back({BufferIndex(buffer), InstructionIndex(collective.start()),
                         InstructionIndex(collective.done())});
    }
  }
  std::stable_sort(flights.begin(), flights.end(), [](const Flight& a, const Flight& b) {
    return std::tie(a.buffer, a.start) < std::tie(b.buffer, b.start);
  });
  std::vector<Flight> joined;
  for (const Flight& flight : flights) {
    const bool overlaps = !joined.empty() && joined.back().buffer == flight.buffer &&
                          flight.start <= joined.back().done;
    if (overlaps) {
      joined.back().done = std::max(joined.back().done, flight.done);
    } else {
      joined.push_back(flight);
    }
  }
  return joined;
}

std::optional<Baseline> BaselineFromProto(const v1::Program& proto) {
  if (!proto.has_baseline() || !proto.baseline().has_mapping()) return std::nullopt;
  const v1::Baseline& from = proto.baseline();
  return Baseline{.compiled_cycles = from.total_cycles(),
                  .stall_cycles = from.stall_cycles(),
                  .mapped_cycles = from.mapping_cycles(),
                  .packed = from.packed(),
                  .mapping = MappingFromCheckedProto(from.mapping()),
                  .notes = {from.notes().begin(), from.notes().end()}};
}

// Sets `loop` and `execution_count` of loop markers: the begin belongs outside its loop, the end
// inside (see Instruction).
void PlaceMarkers(IndexSpan<LoopIndex, const Loop> loops,
                  IndexVector<InstructionIndex, Instruction>& instructions) {
  for (const LoopIndex l : loops.indices()) {  // parents come first
    Instruction& begin = instructions[loops[l].begin];
    begin.loop = loops[l].parent;
    begin.execution_count =
        begin.loop < 0 ? 1 : instructions[loops[begin.loop].end].execution_count;
    Instruction& end = instructions[loops[l].end];
    end.loop = l;
    end.execution_count = begin.execution_count * static_cast<double>(loops[l].trip_count);
  }
}

}  // namespace

InstructionKind KindFromProto(v1::Instruction::Kind kind) {
  switch (kind) {
    case v1::Instruction::MODELLED:
      return InstructionKind::kModelled;
    case v1::Instruction::LOOP_BEGIN:
      return InstructionKind::kLoopBegin;
    case v1::Instruction::LOOP_END:
      return InstructionKind::kLoopEnd;
    default:
      return InstructionKind::kEstimated;
  }
}

AccessKind AccessKindFromProto(v1::Access::Kind kind) {
  switch (kind) {
    case v1::Access::WRITE:
      return AccessKind::kWrite;
    case v1::Access::UPDATE:
      return AccessKind::kUpdate;
    default:
      return AccessKind::kRead;
  }
}

absl::StatusOr<Program> Program::FromProto(v1::Program proto) {
  MMZ_RETURN_IF_ERROR(CheckProgram(proto));
  Program program;
  program.proto_ = std::make_unique<const v1::Program>(std::move(proto));
  const v1::Program& checked = *program.proto_;
  program.instructions_ = InstructionsFromProto(checked);
  program.accesses_ = AccessesFromProto(checked);
  program.buffers_ = BuffersFromProto(checked);
  program.carried_groups_ = CarriedGroupsFromProto(checked);
  program.loops_ = LoopsFromProto(checked);
  PlaceMarkers(program.loops_, program.instructions_);
  absl::StatusOr<LatencyTable> latency = LatencyTable::FromProto(
      checked.latency(), program.instructions_, program.accesses_, checked.hardware());
  if (!latency.ok()) return latency.status();
  program.latency_ = *std::move(latency);
  program.link_events_ = LinkEvents(checked.collectives());
  program.flights_ = FlightsFromProto(checked);
  program.baseline_ = BaselineFromProto(checked);
  program.IndexAccessesByBuffer();
  return program;
}

absl::Span<const Flight> Program::FlightsOf(BufferIndex buffer) const {
  const auto [first, end] =
      std::equal_range(flights_.begin(), flights_.end(), Flight{.buffer = buffer},
                       [](const Flight& a, const Flight& b) { return a.buffer < b.buffer; });
  return absl::MakeConstSpan(flights_).subspan(first - flights_.begin(), end - first);
}

void Program::IndexAccessesByBuffer() {
  buffer_access_starts_.assign(buffers_.size() + 1, 0);
  for (const Access& access : accesses_) ++buffer_access_starts_[access.buffer + 1];
  for (const BufferIndex b : buffers_.indices()) {
    buffer_access_starts_[b + 1] += buffer_access_starts_[b];
  }
  buffer_accesses_.resize(accesses_.size());
  IndexVector<BufferIndex, uint32_t> next(buffer_access_starts_.begin(),
                                          buffer_access_starts_.end() - 1);
  for (const AccessIndex a : accesses_.indices()) {
    buffer_accesses_[next[accesses_[a].buffer]++] = a;
  }
}

absl::StatusOr<Program> LoadProgram(const std::string& path) {
  absl::StatusOr<v1::Program> proto = ReadMessage<v1::Program>(path);
  if (!proto.ok()) return proto.status();
  absl::StatusOr<Program> program = Program::FromProto(*std::move(proto));
  if (!program.ok()) return StatusAt(path, program.status());
  return program;
}

}  // namespace mallocmuzero
