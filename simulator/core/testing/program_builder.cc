#include "simulator/core/testing/program_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "simulator/core/fingerprint.h"

namespace mallocmuzero::testing {
namespace {

// Sets live ranges, in instructions: from the first access to the last one, extended over loops
// that use a buffer which exists before them.
void DeriveLiveRanges(v1::Program& program) {
  const uint32_t last_instruction = program.instructions_size() - 1;
  std::vector<bool> seen(program.buffers_size(), false);
  for (int b = 0; b < program.buffers_size(); ++b) seen[b] = program.buffers(b).live_in();
  for (const v1::Access& access : program.accesses()) {
    v1::Buffer& buffer = *program.mutable_buffers(access.buffer());
    if (!seen[access.buffer()]) buffer.set_first(access.instruction());
    seen[access.buffer()] = true;
    uint32_t last = std::max(buffer.last(), access.instruction());
    for (const v1::Loop& loop : program.loops()) {
      const bool inside = loop.begin() < access.instruction() && access.instruction() < loop.end();
      if (inside && buffer.first() <= loop.begin()) last = std::max(last, loop.end());
    }
    buffer.set_last(last);
  }
  for (v1::Buffer& buffer : *program.mutable_buffers()) {
    if (buffer.live_out()) buffer.set_last(last_instruction);
  }
}

void AddTensors(v1::Program& program) {
  for (int b = 0; b < program.buffers_size(); ++b) {
    v1::Tensor& tensor = *program.add_tensors();
    tensor.set_instruction_name(absl::StrCat("value.", b));
    tensor.set_shape(absl::StrCat("u8[", program.buffers(b).bytes(), "]{0}"));
    tensor.set_bytes(program.buffers(b).bytes());
    tensor.set_buffer(b);
  }
}

}  // namespace

v1::Hardware SmallHardware() {
  v1::Hardware hardware;
  FillHeader(hardware);
  hardware.set_name("small");
  hardware.set_fast_memory_space(3);
  hardware.set_fast_memory_bytes(1024);
  hardware.set_fast_memory_alignment_bytes(16);
  hardware.set_hbm_bytes_per_cycle(10);
  hardware.set_fast_memory_read_bytes_per_cycle(100);
  hardware.set_fast_memory_write_bytes_per_cycle(50);
  hardware.set_flops_per_cycle(1000);
  hardware.set_clock_hz(1e9);
  return hardware;
}

AccessSpec Read(BufferIndex buffer, double savings, int64_t bytes_accessed) {
  return {buffer, v1::Access::READ, savings, bytes_accessed};
}

AccessSpec Write(BufferIndex buffer, double savings, int64_t bytes_accessed) {
  return {buffer, v1::Access::WRITE, savings, bytes_accessed};
}

AccessSpec Update(BufferIndex buffer, double savings, int64_t bytes_accessed) {
  return {buffer, v1::Access::UPDATE, savings, bytes_accessed};
}

ProgramBuilder::ProgramBuilder(v1::Hardware hardware) {
  proto_.set_name("test");
  *proto_.mutable_hardware() = std::move(hardware);
}

v1::Hardware& ProgramBuilder::hardware() { return *proto_.mutable_hardware(); }

BufferIndex ProgramBuilder::AddBuffer(int64_t bytes, BufferSpec spec) {
  v1::Buffer& buffer = *proto_.add_buffers();
  buffer.set_bytes(bytes);
  buffer.set_live_in(spec.live_in);
  buffer.set_live_out(spec.live_out);
  buffer.set_pinned_to_hbm(spec.pinned_to_hbm);
  return BufferIndex(proto_.buffers_size() - 1);
}

v1::Instruction& ProgramBuilder::InstructionAt(InstructionIndex index) {
  return *proto_.mutable_instructions(index.number());
}

v1::LatencyClass& ProgramBuilder::ClassOf(InstructionIndex index) {
  return *proto_.mutable_latency()->mutable_classes(index.number());
}

InstructionIndex ProgramBuilder::NextInstruction(const std::string& opcode,
                                                 v1::Instruction::Kind kind) {
  const InstructionIndex index(proto_.instructions_size());
  v1::Instruction& instruction = *proto_.add_instructions();
  instruction.set_name(absl::StrCat(opcode, ".", index));
  instruction.set_opcode(opcode);
  instruction.set_kind(kind);
  instruction.set_first_access(proto_.accesses_size());
  int64_t executions = 1;
  for (const LoopIndex loop : open_loops_) executions *= proto_.loops(loop.number()).trip_count();
  instruction.set_execution_count(executions);
  if (!open_loops_.empty()) instruction.set_loop(open_loops_.back().number());
  proto_.mutable_latency()->add_instructions()->set_latency_class(index.number());
  proto_.mutable_latency()->add_classes()->set_members(1);
  return index;
}

InstructionIndex ProgramBuilder::AddWithAccesses(v1::Instruction::Kind kind,
                                                 const std::vector<AccessSpec>& accesses) {
  const InstructionIndex index = NextInstruction("fusion", kind);
  InstructionAt(index).set_access_count(accesses.size());
  v1::LatencyClass& cls = ClassOf(index);
  int32_t operand = 0;
  for (const AccessSpec& spec : accesses) {
    v1::Access& access = *proto_.add_accesses();
    access.set_instruction(index.number());
    access.set_buffer(spec.buffer.number());
    access.set_kind(spec.kind);
    access.set_bytes(proto_.buffers(spec.buffer.number()).bytes());
    access.set_bytes_accessed(spec.bytes_accessed < 0 ? access.bytes() : spec.bytes_accessed);
    access.add_positions()->set_operand(spec.kind == v1::Access::WRITE ? -1 : operand++);
    cls.add_savings_cycles(spec.savings);
  }
  return index;
}

InstructionIndex ProgramBuilder::AddInstruction(double all_hbm_cycles,
                                                const std::vector<AccessSpec>& accesses) {
  const InstructionIndex index = AddWithAccesses(v1::Instruction::ESTIMATED, accesses);
  v1::LatencyClass& cls = ClassOf(index);
  cls.set_base_cycles(all_hbm_cycles);
  cls.set_ceiling_cycles(9e15);
  return index;
}

InstructionIndex ProgramBuilder::AddModelled(double flops,
                                             const std::vector<AccessSpec>& accesses) {
  const InstructionIndex index = AddWithAccesses(v1::Instruction::MODELLED, accesses);
  v1::LatencyClass& cls = ClassOf(index);
  cls.set_modelled(true);
  cls.set_flops(flops);
  cls.clear_savings_cycles();
  return index;
}

LoopIndex ProgramBuilder::BeginLoop(int64_t trip_count) {
  const InstructionIndex begin = NextInstruction("while", v1::Instruction::LOOP_BEGIN);
  v1::Loop& loop = *proto_.add_loops();
  loop.set_name(absl::StrCat("while.", begin));
  loop.set_begin(begin.number());
  loop.set_trip_count(trip_count);
  loop.set_trip_count_known(true);
  if (!open_loops_.empty()) loop.set_parent(open_loops_.back().number());
  open_loops_.push_back(LoopIndex(proto_.loops_size() - 1));
  return open_loops_.back();
}

void ProgramBuilder::EndLoop() {
  const InstructionIndex end = NextInstruction("while", v1::Instruction::LOOP_END);
  proto_.mutable_loops(open_loops_.back().number())->set_end(end.number());
  open_loops_.pop_back();
}

uint32_t ProgramBuilder::AddCarriedGroup(LoopIndex loop, BufferIndex initial, BufferIndex parameter,
                                         BufferIndex root, BufferIndex result) {
  v1::CarriedGroup& group = *proto_.add_carried_groups();
  group.set_loop(loop.number());
  group.set_initial_buffer(initial.number());
  group.set_parameter_buffer(parameter.number());
  group.set_root_buffer(root.number());
  group.set_result_buffer(result.number());
  return proto_.carried_groups_size() - 1;
}

ProgramBuilder& ProgramBuilder::AddCollective(InstructionIndex start, InstructionIndex done,
                                              double cycles,
                                              const std::vector<BufferIndex>& buffers) {
  v1::Collective& collective = *proto_.add_collectives();
  collective.set_start(start.number());
  collective.set_done(done.number());
  collective.set_cycles(cycles);
  for (const BufferIndex buffer : buffers) collective.add_buffers(buffer.number());
  return *this;
}

ProgramBuilder& ProgramBuilder::SetName(InstructionIndex instruction, const std::string& name) {
  InstructionAt(instruction).set_name(name);
  return *this;
}

ProgramBuilder& ProgramBuilder::SetFixedHbmBytes(InstructionIndex instruction, int64_t bytes) {
  InstructionAt(instruction).set_fixed_hbm_bytes(bytes);
  return *this;
}

ProgramBuilder& ProgramBuilder::SetBounds(InstructionIndex instruction, double floor,
                                          double ceiling) {
  v1::LatencyClass& cls = ClassOf(instruction);
  cls.set_floor_cycles(floor);
  cls.set_ceiling_cycles(ceiling);
  return *this;
}

ProgramBuilder& ProgramBuilder::AddObserved(InstructionIndex instruction, uint64_t fast_mask,
                                            double cycles) {
  v1::ObservedLatency& observed = *ClassOf(instruction).add_observed();
  observed.set_fast_accesses(fast_mask);
  observed.set_cycles(cycles);
  return *this;
}

ProgramBuilder& ProgramBuilder::AddException(InstructionIndex instruction, uint64_t fast_mask,
                                             double cycles) {
  v1::ObservedLatency& exception =
      *proto_.mutable_latency()->mutable_instructions(instruction.number())->add_exceptions();
  exception.set_fast_accesses(fast_mask);
  exception.set_cycles(cycles);
  return *this;
}

v1::Program ProgramBuilder::BuildProto() const {
  v1::Program program = proto_;
  DeriveLiveRanges(program);
  AddTensors(program);
  SealProgram(program);
  return program;
}

Program ProgramBuilder::Build() const {
  absl::StatusOr<Program> program = Program::FromProto(BuildProto());
  if (!program.ok()) {
    std::fprintf(stderr, "ProgramBuilder: %s\n", program.status().ToString().c_str());
    std::abort();
  }
  return *std::move(program);
}

}  // namespace mallocmuzero::testing
