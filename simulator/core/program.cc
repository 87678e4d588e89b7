#include "simulator/core/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program_checks.h"

namespace mallocmuzero {
namespace {

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

AccessKind KindFromProto(v1::Access::Kind kind) {
  switch (kind) {
    case v1::Access::WRITE:
      return AccessKind::kWrite;
    case v1::Access::UPDATE:
      return AccessKind::kUpdate;
    default:
      return AccessKind::kRead;
  }
}

std::vector<Instruction> InstructionsFromProto(const v1::Program& proto) {
  std::vector<Instruction> instructions;
  instructions.reserve(proto.instructions_size());
  for (const v1::Instruction& from : proto.instructions()) {
    Instruction& to = instructions.emplace_back();
    to.execution_count = static_cast<double>(from.execution_count());
    to.fixed_hbm_bytes = from.fixed_hbm_bytes();
    to.first_access = from.first_access();
    to.access_count = from.access_count();
    to.loop = from.has_loop() ? static_cast<int32_t>(from.loop()) : -1;
    to.kind = KindFromProto(from.kind());
  }
  return instructions;
}

std::vector<Access> AccessesFromProto(const v1::Program& proto) {
  std::vector<Access> accesses;
  accesses.reserve(proto.accesses_size());
  for (const v1::Access& from : proto.accesses()) {
    accesses.push_back({from.bytes(), from.bytes_accessed(), from.instruction(), from.buffer(),
                        KindFromProto(from.kind())});
  }
  return accesses;
}

std::vector<Buffer> BuffersFromProto(const v1::Program& proto) {
  std::vector<Buffer> buffers;
  buffers.reserve(proto.buffers_size());
  for (const v1::Buffer& from : proto.buffers()) {
    buffers.push_back({from.bytes(), from.first(), from.last(), from.live_in(), from.live_out(),
                       from.pinned_to_hbm()});
  }
  return buffers;
}

std::vector<CarriedGroup> CarriedGroupsFromProto(const v1::Program& proto) {
  std::vector<CarriedGroup> groups;
  groups.reserve(proto.carried_groups_size());
  for (const v1::CarriedGroup& from : proto.carried_groups()) {
    groups.push_back({from.loop(), from.initial_buffer(), from.parameter_buffer(),
                      from.root_buffer(), from.result_buffer()});
  }
  return groups;
}

std::vector<Loop> LoopsFromProto(const v1::Program& proto) {
  std::vector<Loop> loops;
  loops.reserve(proto.loops_size());
  for (const v1::Loop& from : proto.loops()) {
    loops.push_back({from.begin(), from.end(),
                     from.has_parent() ? static_cast<int32_t>(from.parent()) : -1,
                     from.trip_count()});
  }
  return loops;
}

std::optional<Baseline> BaselineFromProto(const v1::Program& proto) {
  if (!proto.has_baseline() || !proto.baseline().has_mapping()) return std::nullopt;
  const v1::Baseline& from = proto.baseline();
  return Baseline{.compiled_cycles = from.total_cycles(),
                  .mapped_cycles = from.mapping_cycles(),
                  .packed = from.packed(),
                  .mapping = MappingFromCheckedProto(from.mapping())};
}

// Sets `loop` and `execution_count` of loop markers: the begin belongs outside its loop, the end
// inside (see Instruction).
void PlaceMarkers(absl::Span<const Loop> loops, std::vector<Instruction>& instructions) {
  for (size_t l = 0; l < loops.size(); ++l) {  // parents come first
    Instruction& begin = instructions[loops[l].begin];
    begin.loop = loops[l].parent;
    begin.execution_count =
        begin.loop < 0 ? 1 : instructions[loops[begin.loop].end].execution_count;
    Instruction& end = instructions[loops[l].end];
    end.loop = static_cast<int32_t>(l);
    end.execution_count = begin.execution_count * static_cast<double>(loops[l].trip_count);
  }
}

}  // namespace

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
  program.baseline_ = BaselineFromProto(checked);
  program.IndexAccessesByBuffer();
  return program;
}

void Program::IndexAccessesByBuffer() {
  buffer_access_starts_.assign(buffers_.size() + 1, 0);
  for (const Access& access : accesses_) ++buffer_access_starts_[access.buffer + 1];
  for (size_t b = 0; b < buffers_.size(); ++b) {
    buffer_access_starts_[b + 1] += buffer_access_starts_[b];
  }
  buffer_accesses_.resize(accesses_.size());
  std::vector<uint32_t> next(buffer_access_starts_.begin(), buffer_access_starts_.end() - 1);
  for (uint32_t a = 0; a < accesses_.size(); ++a) {
    buffer_accesses_[next[accesses_[a].buffer]++] = a;
  }
}

absl::StatusOr<Program> LoadProgram(const std::string& path) {
  absl::StatusOr<v1::Program> proto = ReadMessage<v1::Program>(path);
  if (!proto.ok()) return proto.status();
  absl::StatusOr<Program> program = Program::FromProto(*std::move(proto));
  if (!program.ok()) {
    return absl::Status(program.status().code(),
                        absl::StrCat(path, ": ", program.status().message()));
  }
  return program;
}

}  // namespace mallocmuzero
