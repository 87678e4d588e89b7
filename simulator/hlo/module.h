// The parts of a scheduled HLO module, as libtpu prints it, that the rest of the simulator needs.
//
// All string_views point into Module::text, which never moves. They are valid while the Module
// lives.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_MODULE_H_
#define MALLOCMUZERO_SIMULATOR_HLO_MODULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "simulator/hlo/opcode.h"
#include "simulator/hlo/shape.h"

namespace mallocmuzero::hlo {

using InstructionIndex = int32_t;  // index into Computation::instructions
using ComputationIndex = int32_t;  // index into Module::computations

// How an instruction uses a computation that it names.
enum class CallRole : uint8_t {
  kBody,       // body= of while
  kCondition,  // condition= of while
  kCalls,      // calls= of fusion and of async-start
  kToApply,    // to_apply= of call, reduce, sort, scatter, all-reduce, ...
  kBranch,     // branch_computations={...}, in order; or true_computation=, then false_computation=
  kSelect,     // select= of select-and-scatter
  kScatter,    // scatter= of select-and-scatter
  kCalled,     // called_computations={...} of custom-call
};

// A computation that an instruction names, and its role.
struct CalledComputation {
  CallRole role;
  ComputationIndex computation;
};

// `name=value` behind the operands. The value is as in the text, outer braces included. Left out
// are the attributes that have a field of their own, and those that have no influence on prices:
// metadata, sharding, frontend_attributes, origin, statistics, backend_config.
struct Attribute {
  absl::string_view name;
  absl::string_view value;
};

// One entry of used_scoped_memory_configs: fast memory that the instruction takes for itself.
struct ScopedMemory {
  int32_t memory_space;
  int64_t offset;  // bytes
  int64_t size;    // bytes
};

// One entry `{output_index}: (operand, {operand_index})` of output_to_operand_aliasing: this part
// of the output and this part of the operand share a buffer.
struct OutputOperandAlias {
  ShapeIndex output_index;
  int32_t operand;  // index into Instruction::operands
  ShapeIndex operand_index;
};

// One instruction of HLO text. Fields are empty if the text does not have them.
struct Instruction {
  absl::string_view name;         // without '%'
  absl::string_view opcode_text;  // as printed
  Opcode opcode = Opcode::kUnknown;
  // For kAsyncStart, kAsyncUpdate and kAsyncDone: the opcode of the operation that runs
  // asynchronously; kUnknown for all other opcodes. An async-start of a slice is printed as
  // `slice-start(...)`: opcode kAsyncStart, wrapped_opcode kSlice. If it has `calls=`, the opcode
  // is that of the called computation's root.
  Opcode wrapped_opcode = Opcode::kUnknown;
  bool is_root = false;
  int32_t line = 0;  // line number in the file, from 1
  Shape shape;       // of the result

  absl::InlinedVector<InstructionIndex, 4> operands;  // all come earlier in the schedule
  std::vector<InstructionIndex> control_predecessors;
  absl::InlinedVector<CalledComputation, 1> called_computations;

  absl::optional<int32_t> parameter_number;
  // index= of get-tuple-element, which has it always: it names an element of the only operand.
  absl::optional<int32_t> tuple_index;
  absl::optional<int32_t> cross_program_prefetch_index;
  absl::string_view literal;             // of a constant: the text between the parentheses
  absl::string_view custom_call_target;  // without quotes; escapes as printed
  absl::string_view op_name;             // from the metadata, without quotes; escapes as printed
  std::vector<OutputOperandAlias> output_to_operand_aliasing;
  std::vector<Attribute> attributes;

  // The fields below come from backend_config.
  absl::optional<int64_t> known_trip_count;  // iterations of a while
  absl::optional<int64_t> estimated_cycles;
  // The floating-point operations of one execution of a kernel (Pallas), as its author states them.
  absl::optional<int64_t> kernel_flops;
  std::vector<ScopedMemory> scoped_memory;
  // Lists of positions that share one buffer. With n operands, a position i < n is operand i, and n
  // + k is leaf k of the result (in the order of ForEachLeaf; k = 0 for an array). For example, {1,
  // 3} of a sort with two operands says that the second result takes over the buffer of the second
  // operand. A list without a result names operands that are the same value. Positions are as
  // printed, not checked against the shapes.
  std::vector<std::vector<int32_t>> aliasing_operands;

  // The value of the attribute of that name, or "" if there is none (no attribute has an empty
  // value).
  absl::string_view FindAttribute(absl::string_view attribute_name) const;

  // The first computation called in that role, or nullopt if there is none.
  absl::optional<ComputationIndex> Called(CallRole role) const;
};

// One computation, with its instructions.
struct Computation {
  absl::string_view name;                 // without '%'
  int32_t line = 0;                       // line number of the header, from 1
  std::vector<Instruction> instructions;  // in schedule order
  InstructionIndex root = 0;
  std::vector<InstructionIndex> parameters;  // by parameter number
  absl::flat_hash_map<absl::string_view, InstructionIndex> by_name;

  // Index of the instruction of that name (without '%'), or nullopt if there is none.
  absl::optional<InstructionIndex> Find(absl::string_view instruction_name) const;
};

// One entry of input_output_alias: an output that takes over the buffer of a parameter. An order of
// instructions must keep the parameter until its last read (bench/reorder).
struct InputOutputAlias {
  ShapeIndex output_index;
  int32_t parameter_number;
  ShapeIndex parameter_index;
  bool must_alias;
};

// One module, with the text that all its names point into. Move-only.
struct Module {
  std::unique_ptr<const std::string> text;
  absl::string_view name;
  bool is_scheduled = false;
  // in the order of the text; a callee may come after its caller
  std::vector<Computation> computations;
  ComputationIndex entry = 0;
  std::vector<InputOutputAlias> input_output_aliases;
  // Opcodes that are not in opcode.h, each with the number of its occurrences, in order of the
  // first occurrence.
  std::vector<std::pair<absl::string_view, int64_t>> unknown_opcodes;
  absl::flat_hash_map<absl::string_view, ComputationIndex> by_name;

  const Computation& Entry() const { return computations[entry]; }

  // Index of the computation of that name (without '%'), or nullopt if there is none.
  absl::optional<ComputationIndex> Find(absl::string_view computation_name) const;
};

// Parses the text of one module. `file_name` is used in error messages only. InvalidArgument
// "FILE:LINE:COL: expected X, found Y" (line and byte column, both from 1) if the text is no such
// module, an operand is not defined before its use, or a shape is too large or nests too deep.
absl::StatusOr<Module> ParseModule(std::string text, absl::string_view file_name);

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_MODULE_H_
