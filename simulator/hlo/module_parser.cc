#include <utility>

#include "absl/strings/str_cat.h"
#include "simulator/hlo/call_graph.h"
#include "simulator/hlo/instruction_parser.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"
#include "simulator/hlo/shape_parser.h"

namespace mallocmuzero::hlo {
namespace {

// Parses `HloModule name, attribute=value, ...`, then tables of source positions, then the
// computations.
class ModuleParser {
 public:
  ModuleParser(Lexer& lexer, Module& module) : lexer_(lexer), module_(module) {}

  bool Parse();

 private:
  bool ParseHeader();
  bool ParseHeaderAttribute(absl::string_view name);
  bool ParseInputOutputAlias();
  bool ParseInputOutputAliasEntry();
  void SkipTables();
  bool ParseComputation();
  bool ParseComputationHeader(Computation& computation);
  bool ParseInstructions(Computation& computation);
  bool AddInstruction(const char* start, Instruction&& instruction, Computation& computation);
  bool CollectParameters(const char* start, Computation& computation);
  void CountUnknownOpcode(const Instruction& instruction);
  bool SkipComputationAttributes();

  Lexer& lexer_;
  Module& module_;
  std::vector<PendingCall> calls_;
  absl::flat_hash_map<absl::string_view, size_t> unknown_opcode_slots_;
  bool has_entry_ = false;
};

bool ModuleParser::Parse() {
  if (!ParseHeader()) return false;
  SkipTables();
  while (!lexer_.AtEnd()) {
    if (!ParseComputation()) return false;
  }
  if (!has_entry_) return lexer_.Fail("an ENTRY computation");
  return ResolveCalls(lexer_, calls_, module_);
}

bool ModuleParser::ParseHeader() {
  if (!lexer_.ConsumeWord("HloModule")) return lexer_.Fail("'HloModule'");
  if (!lexer_.ReadName("a module name", module_.name)) return false;
  while (lexer_.Consume(',')) {
    const absl::string_view name = lexer_.TakeName();
    if (name.empty()) return lexer_.Fail("a module attribute");
    if (!lexer_.Expect('=') || !ParseHeaderAttribute(name)) return false;
  }
  return true;
}

bool ModuleParser::ParseHeaderAttribute(absl::string_view name) {
  if (name == "input_output_alias") return ParseInputOutputAlias();
  absl::string_view value;
  if (!lexer_.SkipValue(&value)) return false;
  if (name == "is_scheduled") module_.is_scheduled = value == "true";
  return true;
}

// Parses `{ {}: (0, {}, may-alias), {1}: (3, {0}, must-alias) }`.
bool ModuleParser::ParseInputOutputAlias() {
  if (!lexer_.Expect('{')) return false;
  if (lexer_.Consume('}')) return true;
  do {
    if (!ParseInputOutputAliasEntry()) return false;
  } while (lexer_.Consume(','));
  return lexer_.Expect('}');
}

bool ModuleParser::ParseInputOutputAliasEntry() {
  InputOutputAlias alias = {{}, 0, {}, false};
  if (!ParseShapeIndex(lexer_, alias.output_index) || !lexer_.Expect(':') || !lexer_.Expect('(') ||
      !lexer_.ReadInt32("a parameter number", 0, alias.parameter_number) || !lexer_.Expect(',') ||
      !ParseShapeIndex(lexer_, alias.parameter_index)) {
    return false;
  }
  if (lexer_.Consume(',')) {
    alias.must_alias = lexer_.ConsumeWord("must-alias");
    if (!alias.must_alias && !lexer_.ConsumeWord("may-alias")) {
      return lexer_.Fail("'may-alias' or 'must-alias'");
    }
  }
  module_.input_output_aliases.push_back(std::move(alias));
  return lexer_.Expect(')');
}

// Skips the tables FileNames, FunctionNames, FileLocations and StackFrames. Each has a heading,
// then numbered lines.
void ModuleParser::SkipTables() {
  while (lexer_.ConsumeWord("FileNames") || lexer_.ConsumeWord("FunctionNames") ||
         lexer_.ConsumeWord("FileLocations") || lexer_.ConsumeWord("StackFrames")) {
    while (lexer_.Peek() >= '0' && lexer_.Peek() <= '9') lexer_.SkipLine();
  }
}

bool ModuleParser::ParseComputation() {
  Computation computation;
  lexer_.SkipSpace();
  const char* const start = lexer_.position();
  if (!ParseComputationHeader(computation) || !ParseInstructions(computation) ||
      !CollectParameters(start, computation) || !SkipComputationAttributes()) {
    return false;
  }
  module_.computations.push_back(std::move(computation));
  return true;
}

// Parses `[ENTRY] %name (parameters) -> shape {`; parameters and shape may be missing.
bool ModuleParser::ParseComputationHeader(Computation& computation) {
  computation.line = lexer_.Line();
  const char* const start = lexer_.position();
  const bool is_entry = lexer_.ConsumeWord("ENTRY");
  if (is_entry && has_entry_) return lexer_.FailAt(start, "only one ENTRY computation");
  const auto index = static_cast<ComputationIndex>(module_.computations.size());
  if (is_entry) {
    has_entry_ = true;
    module_.entry = index;
  }
  lexer_.SkipSpace();
  const char* const name_start = lexer_.position();
  if (!lexer_.ReadName("a computation", computation.name)) return false;
  if (!module_.by_name.emplace(computation.name, index).second) {
    return lexer_.FailAt(name_start, "a computation name that is not taken yet");
  }
  if (lexer_.Peek() == '(') {
    if (!lexer_.SkipBalanced()) return false;
    Shape result;
    if (!lexer_.Expect('-') || !lexer_.Expect('>') || !ParseShape(lexer_, result)) return false;
  }
  return lexer_.Expect('{');
}

bool ModuleParser::ParseInstructions(Computation& computation) {
  bool has_root = false;
  while (computation.instructions.empty() || !lexer_.Consume('}')) {
    lexer_.SkipSpace();
    const char* const start = lexer_.position();
    const auto index = static_cast<InstructionIndex>(computation.instructions.size());
    Instruction instruction;
    const InstructionContext context = {
        computation, static_cast<ComputationIndex>(module_.computations.size()), index, calls_};
    if (!ParseInstruction(lexer_, context, instruction)) return false;
    if (instruction.is_root) {
      if (has_root) return lexer_.FailAt(start, "only one ROOT instruction");
      has_root = true;
      computation.root = index;
    }
    if (!AddInstruction(start, std::move(instruction), computation)) return false;
  }
  if (!has_root) {  // XLA takes the last instruction in this case
    computation.root = static_cast<InstructionIndex>(computation.instructions.size()) - 1;
    computation.instructions.back().is_root = true;
  }
  return true;
}

bool ModuleParser::AddInstruction(const char* start, Instruction&& instruction,
                                  Computation& computation) {
  const auto index = static_cast<InstructionIndex>(computation.instructions.size());
  if (!computation.by_name.emplace(instruction.name, index).second) {
    return lexer_.FailAt(start, "an instruction name that is not taken yet");
  }
  if (instruction.opcode == Opcode::kUnknown) CountUnknownOpcode(instruction);
  if (instruction.parameter_number.has_value()) computation.parameters.push_back(index);
  computation.instructions.push_back(std::move(instruction));
  return true;
}

// Sorts the parameters by number; the numbers must be 0, 1, ... without gaps.
bool ModuleParser::CollectParameters(const char* start, Computation& computation) {
  std::vector<InstructionIndex> by_number(computation.parameters.size(), -1);
  for (const InstructionIndex index : computation.parameters) {
    const int32_t number = *computation.instructions[index].parameter_number;
    if (number >= by_number.size() || by_number[number] != -1) {
      return lexer_.FailAt(start, absl::StrCat("parameters numbered 0 to ", by_number.size() - 1));
    }
    by_number[number] = index;
  }
  computation.parameters = std::move(by_number);
  return true;
}

void ModuleParser::CountUnknownOpcode(const Instruction& instruction) {
  auto& unknown = module_.unknown_opcodes;
  const auto [slot, is_new] =
      unknown_opcode_slots_.emplace(instruction.opcode_text, unknown.size());
  if (is_new) unknown.emplace_back(instruction.opcode_text, 0);
  ++unknown[slot->second].second;
}

// Skips attributes behind the closing brace, such as `, execution_thread="host"`.
bool ModuleParser::SkipComputationAttributes() {
  while (lexer_.Consume(',')) {
    if (lexer_.TakeName().empty()) return lexer_.Fail("an attribute");
    if (!lexer_.Expect('=') || !lexer_.SkipValue(nullptr)) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Module> ParseModule(std::string text, absl::string_view file_name) {
  Module module;
  module.text = std::make_unique<const std::string>(std::move(text));
  Lexer lexer(*module.text, file_name);
  if (!ModuleParser(lexer, module).Parse()) return lexer.status();
  return module;
}

}  // namespace mallocmuzero::hlo
