#include "simulator/overrides/positions.h"

#include <algorithm>
#include <utility>

#include "mallocmuzero/v1/program.pb.h"

namespace mallocmuzero {
namespace {

std::vector<uint32_t> TupleIndexOf(const v1::Position& position) {
  return {position.tuple_index().begin(), position.tuple_index().end()};
}

// The access that writes the output of the instruction of `access` at `tuple_index`, other than
// itself; -1 if there is none.
AccessIndex OtherOutput(const Program& program, AccessIndex access,
                        const std::vector<uint32_t>& tuple_index) {
  const Instruction& instruction = program.instructions()[program.accesses()[access].instruction];
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    const AccessIndex other = instruction.first_access + k;
    if (other == access) continue;
    for (const v1::Position& position : program.MessageOf(other).positions()) {
      if (position.operand() < 0 && TupleIndexOf(position) == tuple_index) return other;
    }
  }
  return -1;
}

// Bounds the use's size to tell it from an output. False if there is no such bound and the override
// would move an output that is wanted in the other memory.
bool TellFromOutput(const Program& program, AccessIndex access, const Mapping& wanted, Use& use) {
  const AccessIndex output = OtherOutput(program, access, use.tuple_index);
  if (output < 0) return true;
  const int64_t bytes = program.accesses()[access].bytes;
  const int64_t output_bytes = program.accesses()[output].bytes;
  const int64_t middle = bytes / 2 + output_bytes / 2;
  if (bytes == output_bytes) {
    return wanted.in_fast_memory[access] == wanted.in_fast_memory[output];
  }
  if (bytes < output_bytes) {
    use.size_lte = std::max(bytes, middle);
  } else {
    use.size_gte = std::max(output_bytes + 1, middle);
  }
  return true;
}

// Adds the closest bounds around the operand's size where there are none.
void BoundSize(int64_t bytes, Use& use) {
  if (!use.size_gte) use.size_gte = bytes - 1;
  if (!use.size_lte) use.size_lte = bytes + 1;
}

}  // namespace

const std::string& InstructionName(const Program& program, InstructionIndex instruction) {
  return program.MessageOf(instruction).name();
}

std::vector<Definition> DefinitionsOf(const Program& program, AccessIndex access) {
  std::vector<Definition> definitions;
  const v1::Access& proto = program.MessageOf(access);
  for (const v1::Position& position : proto.positions()) {
    if (position.operand() >= 0) continue;
    definitions.push_back(
        {.instruction = InstructionName(program, InstructionIndex(proto.instruction())),
         .tuple_index = TupleIndexOf(position)});
  }
  // Several definitions may differ in size, and an access has one size.
  if (definitions.size() == 1) definitions[0].bytes = program.accesses()[access].bytes;
  return definitions;
}

std::vector<Definition> InputDefinition(const Program& program, BufferIndex buffer) {
  if (!program.buffers()[buffer].live_in) return {};
  for (const v1::Tensor& tensor : program.proto().tensors()) {
    if (BufferIndex(tensor.buffer()) != buffer) continue;
    return {{.instruction = tensor.instruction_name(),
             .tuple_index = {tensor.tuple_index().begin(), tensor.tuple_index().end()},
             .bytes = tensor.bytes()}};
  }
  return {};
}

std::vector<Use> UsesOf(const Program& program, AccessIndex access, const Mapping& wanted) {
  std::vector<Use> uses;
  const v1::Access& proto = program.MessageOf(access);
  for (const v1::Position& position : proto.positions()) {
    if (position.operand() < 0) continue;
    Use use{.instruction = InstructionName(program, InstructionIndex(proto.instruction())),
            .operand = position.operand(),
            .tuple_index = TupleIndexOf(position)};
    if (TellFromOutput(program, access, wanted, use)) uses.push_back(std::move(use));
  }
  if (uses.size() == 1) BoundSize(program.accesses()[access].bytes, uses[0]);
  return uses;
}

}  // namespace mallocmuzero
