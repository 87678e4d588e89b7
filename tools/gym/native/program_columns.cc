#include "tools/gym/native/program_columns.h"

#include "absl/types/span.h"
#include "base/index.h"

namespace mallocmuzero::gym {
namespace {

// A column with `field` of each row.
template <typename T, typename Row, typename Field>
Column MakeColumn(const char* name, absl::Span<const Row> rows, const Field& field) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(static_cast<T>(field(row)));
  return {name, std::move(values)};
}

template <typename T>
int64_t Number(T value) {
  return static_cast<int64_t>(value);
}
template <typename Tag>
int64_t Number(Index<Tag> index) {
  return index.number();
}

template <typename Row, typename Member>
Column Integers(const char* name, absl::Span<const Row> rows, Member Row::*member) {
  return MakeColumn<int64_t>(name, rows, [member](const Row& row) { return Number(row.*member); });
}

// Cycles of one execution of each instruction with no or all of its accesses in fast memory.
Column Cycles(const char* name, const Program& program, bool fast) {
  std::vector<double> cycles;
  for (const InstructionIndex i : program.instructions().indices()) {
    const uint32_t accesses = fast ? program.instructions()[i].access_count : 0;
    const uint64_t mask = accesses == 64 ? ~uint64_t{0} : (uint64_t{1} << accesses) - 1;
    cycles.push_back(program.latency().Cycles(i, mask));
  }
  return {name, std::move(cycles)};
}

}  // namespace

Columns InstructionColumns(const Program& program) {
  std::vector<std::string> names;
  std::vector<std::string> opcodes;
  for (const v1::Instruction& instruction : program.proto().instructions()) {
    names.push_back(instruction.name());
    opcodes.push_back(instruction.opcode());
  }
  const absl::Span<const Instruction> rows = program.instructions().elements();
  return {{"name", std::move(names)},
          {"opcode", std::move(opcodes)},
          Integers("kind", rows, &Instruction::kind),
          Cycles("cycles", program, false),
          Cycles("fast_cycles", program, true),
          Integers("execution_count", rows, &Instruction::execution_count),
          Integers("fixed_hbm_bytes", rows, &Instruction::fixed_hbm_bytes),
          Integers("loop", rows, &Instruction::loop),
          Integers("first_access", rows, &Instruction::first_access),
          Integers("access_count", rows, &Instruction::access_count)};
}

Columns AccessColumns(const Program& program) {
  const absl::Span<const Access> rows = program.accesses().elements();
  std::vector<int64_t> in_default(rows.size(), -1);
  if (const Baseline* baseline = program.baseline(); baseline != nullptr) {
    in_default.assign(baseline->mapping.in_fast_memory.begin(),
                      baseline->mapping.in_fast_memory.end());
  }
  return {Integers("instruction", rows, &Access::instruction),
          Integers("buffer", rows, &Access::buffer),
          Integers("kind", rows, &Access::kind),
          Integers("bytes", rows, &Access::bytes),
          Integers("bytes_accessed", rows, &Access::bytes_accessed),
          {"default_fast", std::move(in_default)}};
}

Columns BufferColumns(const Program& program) {
  const absl::Span<const Buffer> rows = program.buffers().elements();
  return {Integers("bytes", rows, &Buffer::bytes),
          Integers("first", rows, &Buffer::first),
          Integers("last", rows, &Buffer::last),
          Integers("live_in", rows, &Buffer::live_in),
          Integers("live_out", rows, &Buffer::live_out),
          Integers("pinned_to_hbm", rows, &Buffer::pinned_to_hbm)};
}

}  // namespace mallocmuzero::gym
