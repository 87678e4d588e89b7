#include "simulator/hlo/instruction_parser.h"

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/size32.h"
#include "simulator/hlo/backend_config.h"
#include "simulator/hlo/shape_parser.h"

namespace mallocmuzero::hlo {
namespace {

// How an attribute is handled. The values for calls come last, in the order of CallRole.
enum class AttributeKind : uint8_t {
  kKeep,
  kSkip,
  kMetadata,
  kBackendConfig,
  kTupleIndex,
  kCustomCallTarget,
  kControlPredecessors,
  kOutputAliasing,
  kPrefetchIndex,
  kCall,
};

struct KnownAttribute {
  absl::string_view name;
  AttributeKind kind;
  CallRole role = CallRole::kCalled;  // used for kCall
};

// Sorted by falling frequency in compiled programs, because names are compared in this order.
constexpr std::array kKnownAttributes = {
    KnownAttribute{"metadata", AttributeKind::kMetadata},
    KnownAttribute{"backend_config", AttributeKind::kBackendConfig},
    KnownAttribute{"calls", AttributeKind::kCall, CallRole::kCalls},
    KnownAttribute{"frontend_attributes", AttributeKind::kSkip},
    KnownAttribute{"sharding", AttributeKind::kSkip},
    KnownAttribute{"to_apply", AttributeKind::kCall, CallRole::kToApply},
    KnownAttribute{"index", AttributeKind::kTupleIndex},
    KnownAttribute{"custom_call_target", AttributeKind::kCustomCallTarget},
    KnownAttribute{"control-predecessors", AttributeKind::kControlPredecessors},
    KnownAttribute{"output_to_operand_aliasing", AttributeKind::kOutputAliasing},
    KnownAttribute{"cross_program_prefetch_index", AttributeKind::kPrefetchIndex},
    KnownAttribute{"body", AttributeKind::kCall, CallRole::kBody},
    KnownAttribute{"condition", AttributeKind::kCall, CallRole::kCondition},
    KnownAttribute{"branch_computations", AttributeKind::kCall, CallRole::kBranch},
    KnownAttribute{"true_computation", AttributeKind::kCall, CallRole::kBranch},
    KnownAttribute{"false_computation", AttributeKind::kCall, CallRole::kBranch},
    KnownAttribute{"called_computations", AttributeKind::kCall, CallRole::kCalled},
    KnownAttribute{"select", AttributeKind::kCall, CallRole::kSelect},
    KnownAttribute{"scatter", AttributeKind::kCall, CallRole::kScatter},
    KnownAttribute{"origin", AttributeKind::kSkip},
    KnownAttribute{"statistics", AttributeKind::kSkip},
};

KnownAttribute Classify(absl::string_view name) {
  for (const KnownAttribute& known : kKnownAttributes) {
    if (known.name == name) return known;
  }
  return {name, AttributeKind::kKeep};
}

// Parses one instruction. The methods follow the grammar.
class InstructionParser {
 public:
  InstructionParser(Lexer& lexer, const InstructionContext& context, Instruction& instruction)
      : lexer_(lexer), context_(context), out_(instruction) {}

  bool Parse();

 private:
  bool ParseOpcode();
  bool ParseArguments();
  bool ParseOperands();
  bool SkipOperandShape();
  bool ParseLocalName(InstructionIndex& index);
  bool ParseAttributes();
  bool ParseAttribute(absl::string_view name);
  bool ParseMetadata();
  bool ParseCalls(CallRole role);
  bool ParseCall(CallRole role);
  bool ParseTupleIndex();
  bool ParseControlPredecessors();
  bool ParseOutputAliasing();

  Lexer& lexer_;
  const InstructionContext& context_;
  Instruction& out_;
  Shape operand_shape_;  // scratch space for shapes of operands, which are checked and dropped
};

bool InstructionParser::Parse() {
  out_.line = lexer_.Line();
  out_.is_root = lexer_.ConsumeWord("ROOT");
  lexer_.SkipSpace();
  const char* const start = lexer_.position();
  if (!lexer_.ReadName("an instruction", out_.name) || !lexer_.Expect('=') ||
      !ParseShape(lexer_, out_.shape) || !ParseOpcode() || !ParseArguments() ||
      !ParseAttributes()) {
    return false;
  }
  const bool lacks_index = out_.opcode == Opcode::kGetTupleElement && !out_.tuple_index.has_value();
  return !lacks_index || lexer_.FailAt(start, "a get-tuple-element with index=");
}

bool InstructionParser::ParseOpcode() {
  out_.opcode_text = lexer_.TakeName();
  if (out_.opcode_text.empty()) return lexer_.Fail("an opcode");
  out_.opcode = OpcodeFromName(out_.opcode_text);
  if (out_.opcode != Opcode::kUnknown) return true;
  struct Suffix {
    absl::string_view text;
    Opcode opcode;
  };
  for (const Suffix& suffix :
       {Suffix{"-start", Opcode::kAsyncStart}, Suffix{"-update", Opcode::kAsyncUpdate},
        Suffix{"-done", Opcode::kAsyncDone}}) {
    absl::string_view wrapped = out_.opcode_text;
    if (!absl::ConsumeSuffix(&wrapped, suffix.text)) continue;
    out_.wrapped_opcode = OpcodeFromName(wrapped);
    if (out_.wrapped_opcode != Opcode::kUnknown) out_.opcode = suffix.opcode;
  }
  return true;
}

bool InstructionParser::ParseArguments() {
  if (out_.opcode == Opcode::kParameter) {
    int32_t number;
    if (!lexer_.Expect('(') || !lexer_.ReadInt32("a parameter number", 0, number)) return false;
    out_.parameter_number = number;
    return lexer_.Expect(')');
  }
  if (out_.opcode == Opcode::kConstant) {
    if (lexer_.Peek() != '(') return lexer_.Fail("'('");
    const char* const start = lexer_.position() + 1;
    if (!lexer_.SkipBalanced()) return false;
    out_.literal = absl::string_view(start, lexer_.position() - 1 - start);
    return true;
  }
  return ParseOperands();
}

bool InstructionParser::ParseOperands() {
  if (!lexer_.Expect('(')) return false;
  if (lexer_.Consume(')')) return true;
  do {
    if (lexer_.Peek() != '%' && !SkipOperandShape()) return false;
    InstructionIndex operand;
    if (!ParseLocalName(operand)) return false;
    out_.operands.push_back(operand);
  } while (lexer_.Consume(','));
  return lexer_.Expect(')');
}

// Operands are printed as `%x`, `x`, `f32[2] %x` or `f32[2] x`.
bool InstructionParser::SkipOperandShape() {
  const char* const start = lexer_.position();
  if (*start != '(') {
    lexer_.TakeName();
    const char next = *lexer_.position();
    lexer_.set_position(start);
    if (next != '[' && next != '(') return true;
  }
  operand_shape_ = Shape();
  return ParseShape(lexer_, operand_shape_);
}

bool InstructionParser::ParseLocalName(InstructionIndex& index) {
  lexer_.SkipSpace();
  const char* const start = lexer_.position();
  absl::string_view name;
  if (!lexer_.ReadName("an instruction", name)) return false;
  const auto found = context_.computation.by_name.find(name);
  if (found == context_.computation.by_name.end()) {
    return lexer_.FailAt(start, "an instruction that is defined before its use");
  }
  index = found->second;
  return true;
}

bool InstructionParser::ParseAttributes() {
  while (lexer_.Consume(',')) {
    const absl::string_view name = lexer_.TakeName();
    if (name.empty()) return lexer_.Fail("an attribute");
    if (!lexer_.Expect('=') || !ParseAttribute(name)) return false;
  }
  return true;
}

bool InstructionParser::ParseAttribute(absl::string_view name) {
  const KnownAttribute known = Classify(name);
  switch (known.kind) {
    case AttributeKind::kKeep:
      return lexer_.SkipValue(&out_.attributes.emplace_back(Attribute{name, ""}).value);
    case AttributeKind::kSkip:
      return lexer_.SkipValue(nullptr);
    case AttributeKind::kMetadata:
      return ParseMetadata();
    case AttributeKind::kBackendConfig:
      return ParseBackendConfig(lexer_, out_);
    case AttributeKind::kTupleIndex:
      return ParseTupleIndex();
    case AttributeKind::kCustomCallTarget:
      return lexer_.ReadQuoted(out_.custom_call_target);
    case AttributeKind::kControlPredecessors:
      return ParseControlPredecessors();
    case AttributeKind::kOutputAliasing:
      return ParseOutputAliasing();
    case AttributeKind::kPrefetchIndex: {
      int32_t index;
      if (!lexer_.ReadInt32("a prefetch index", 0, index)) return false;
      out_.cross_program_prefetch_index = index;
      return true;
    }
    case AttributeKind::kCall:
      return ParseCalls(known.role);
  }
  return false;
}

bool InstructionParser::ParseMetadata() {
  if (!lexer_.Expect('{')) return false;
  while (!lexer_.Consume('}')) {
    const absl::string_view name = lexer_.TakeName();
    if (name.empty()) return lexer_.Fail("a metadata field or '}'");
    if (!lexer_.Expect('=')) return false;
    const bool ok = name == "op_name" ? lexer_.ReadQuoted(out_.op_name) : lexer_.SkipValue(nullptr);
    if (!ok) return false;
    lexer_.Consume(',');
  }
  return true;
}

bool InstructionParser::ParseCalls(CallRole role) {
  if (!lexer_.Consume('{')) return ParseCall(role);
  if (lexer_.Consume('}')) return true;
  do {
    if (!ParseCall(role)) return false;
  } while (lexer_.Consume(','));
  return lexer_.Expect('}');
}

bool InstructionParser::ParseCall(CallRole role) {
  lexer_.SkipSpace();
  const char* const start = lexer_.position();
  absl::string_view callee;
  if (!lexer_.ReadName("a computation", callee)) return false;
  context_.calls.push_back({context_.computation_index, context_.instruction_index,
                            Size32(out_.called_computations), callee, start});
  out_.called_computations.push_back({role, -1});
  return true;
}

// Checked here, so that code which follows tuple elements needs no range check.
bool InstructionParser::ParseTupleIndex() {
  lexer_.SkipSpace();
  const char* const start = lexer_.position();
  int32_t index;
  if (!lexer_.ReadInt32("a tuple index", 0, index)) return false;
  out_.tuple_index = index;
  if (out_.opcode != Opcode::kGetTupleElement) return true;
  const Shape* const tuple = out_.operands.size() == 1
                                 ? &context_.computation.instructions[out_.operands.front()].shape
                                 : nullptr;
  if (tuple != nullptr && index < tuple->tuple_shapes.size()) return true;
  return lexer_.FailAt(start, "the index of an element of the operand");
}

bool InstructionParser::ParseControlPredecessors() {
  if (!lexer_.Expect('{')) return false;
  if (lexer_.Consume('}')) return true;
  do {
    if (!ParseLocalName(out_.control_predecessors.emplace_back())) return false;
  } while (lexer_.Consume(','));
  return lexer_.Expect('}');
}

// Parses `{{0}: (1, {}), {1}: (2, {0}, must-alias)}`.
bool InstructionParser::ParseOutputAliasing() {
  if (!lexer_.Expect('{')) return false;
  if (lexer_.Consume('}')) return true;
  do {
    OutputOperandAlias alias;
    if (!ParseShapeIndex(lexer_, alias.output_index) || !lexer_.Expect(':') ||
        !lexer_.Expect('(')) {
      return false;
    }
    lexer_.SkipSpace();
    const char* const start = lexer_.position();
    if (!lexer_.ReadInt32("an operand number", 0, alias.operand)) return false;
    if (alias.operand >= out_.operands.size()) {
      return lexer_.FailAt(start, absl::StrCat("one of ", out_.operands.size(), " operands"));
    }
    if (!lexer_.Expect(',') || !ParseShapeIndex(lexer_, alias.operand_index)) return false;
    if (lexer_.Consume(',')) lexer_.TakeName();
    if (!lexer_.Expect(')')) return false;
    out_.output_to_operand_aliasing.push_back(std::move(alias));
  } while (lexer_.Consume(','));
  return lexer_.Expect('}');
}

}  // namespace

bool ParseInstruction(Lexer& lexer, const InstructionContext& context, Instruction& instruction) {
  return InstructionParser(lexer, context, instruction).Parse();
}

}  // namespace mallocmuzero::hlo
