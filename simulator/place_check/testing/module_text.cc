#include "simulator/place_check/testing/module_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace mallocmuzero::place_check {
namespace {

[[noreturn]] void Abort(absl::string_view why, absl::string_view where) {
  std::fputs(absl::StrCat(why, ": ", where, "\n").c_str(), stderr);
  std::abort();
}

int64_t Number(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) Abort("a number expected", text);
  return value;
}

const std::map<std::string, int>& Types() {
  static const auto& types = *new std::map<std::string, int>{
      {"pred", 1}, {"s8", 2}, {"s32", 4}, {"u32", 8}, {"f32", 11}, {"bf16", 16}, {"token", 17}};
  return types;
}

// Reads a shape from the front of `text`, and removes it.
xla::ShapeProto ReadShape(absl::string_view& text) {
  xla::ShapeProto shape;
  text = absl::StripLeadingAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "(")) {
    shape.set_element_type(13);
    while (!absl::ConsumePrefix(&text, ")")) {
      *shape.add_tuple_shapes() = ReadShape(text);
      absl::ConsumePrefix(&text, ",");
    }
    return shape;
  }
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (close == absl::string_view::npos) Abort("a shape expected", text);
  const auto type = Types().find(std::string(text.substr(0, open)));
  if (type == Types().end()) Abort("a type expected", text);
  shape.set_element_type(type->second);
  for (const absl::string_view extent :
       absl::StrSplit(text.substr(open + 1, close - open - 1), ',', absl::SkipEmpty())) {
    shape.add_dimensions(Number(extent));
  }
  for (int i = shape.dimensions_size() - 1; i >= 0; --i) {
    shape.mutable_layout()->add_minor_to_major(i);
  }
  text.remove_prefix(close + 1);
  if (absl::ConsumePrefix(&text, "S")) {
    shape.mutable_layout()->set_memory_space(text.front() - '0');
    text.remove_prefix(1);
  }
  return shape;
}

class Reader {
 public:
  xla::HloModuleProto Read(absl::string_view text) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty()) ReadLine(line);
    }
    for (xla::HloComputationProto& computation : *module_.mutable_computations()) {
      Finish(computation);
    }
    return std::move(module_);
  }

 private:
  void ReadLine(absl::string_view line) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words[0] == "computation" || words[0] == "entry") {
      computation_ = module_.add_computations();
      computation_->set_name(words[1]);
      computation_->set_id(module_.computations_size());
      computations_[words[1]] = computation_->id();
      (*module_.mutable_schedule()->mutable_sequences())[computation_->id()];
      if (words[0] == "entry") module_.set_entry_computation_id(computation_->id());
    } else if (words[0] == "swap") {
      auto& ids = *Sequence(words[1]).mutable_instruction_ids();
      std::iter_swap(std::find(ids.begin(), ids.end(), Id(words[1], words[2])),
                     std::find(ids.begin(), ids.end(), Id(words[1], words[3])));
    } else if (words[0] == "unschedule") {
      auto& ids = *Sequence(words[1]).mutable_instruction_ids();
      ids.erase(std::find(ids.begin(), ids.end(), Id(words[1], words[2])));
    } else if (words[0] == "repeat") {
      Sequence(words[1]).add_instruction_ids(Id(words[1], words[2]));
    } else if (words[0] == "alias") {
      auto& alias = *module_.mutable_input_output_alias()->add_entries();
      alias.set_parameter_number(Number(words[1]));
      alias.set_kind(1);
      if (words.size() > 2) alias.add_output_shape_index(Number(words[2]));
    } else if (words[0] == "prefetch") {
      module_.add_cross_program_prefetches()->set_parameter(Number(words[1]));
    } else {
      ReadInstruction(line);
    }
  }

  void ReadInstruction(absl::string_view line) {
    const bool root = absl::ConsumePrefix(&line, "ROOT ");
    xla::HloInstructionProto& instruction = *computation_->add_instructions();
    const size_t equals = line.find(" = ");
    if (equals == absl::string_view::npos) Abort("an instruction expected", line);
    instruction.set_name(std::string(line.substr(0, equals)));
    instruction.set_id((computation_->id() << 32) + computation_->instructions_size());
    ids_[{computation_->name(), instruction.name()}] = instruction.id();
    if (root) computation_->set_root_id(instruction.id());
    Sequence(computation_->name()).add_instruction_ids(instruction.id());
    line.remove_prefix(equals + 3);
    *instruction.mutable_shape() = ReadShape(line);
    line = absl::StripLeadingAsciiWhitespace(line);
    const size_t open = line.find('(');
    const size_t close = line.find(')');
    if (close == absl::string_view::npos) Abort("operands expected", line);
    instruction.set_opcode(std::string(line.substr(0, open)));
    for (absl::string_view operand :
         absl::StrSplit(line.substr(open + 1, close - open - 1), ", ", absl::SkipEmpty())) {
      instruction.add_operand_ids(Id(computation_->name(), std::string(operand)));
    }
    for (const absl::string_view attribute :
         absl::StrSplit(line.substr(close + 1), ' ', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(attribute, absl::MaxSplits('=', 1));
      SetAttribute(pair.first, pair.second, instruction);
    }
  }

  void SetAttribute(const std::string& key, const std::string& value,
                    xla::HloInstructionProto& instruction) {
    if (key == "number") {
      instruction.set_parameter_number(Number(value));
    } else if (key == "index") {
      instruction.set_tuple_index(Number(value));
    } else if (key == "calls") {
      const std::vector<std::string> names = absl::StrSplit(value, ',');
      for (const std::string& name : names) {
        if (!computations_.contains(name)) Abort("no such computation", name);
        instruction.add_called_computation_ids(computations_[name]);
      }
    } else if (key == "slice") {
      for (const absl::string_view range : absl::StrSplit(value, ',')) {
        const std::pair<std::string, std::string> ends = absl::StrSplit(range, ':');
        xla::SliceDimensions& dimension = *instruction.add_slice_dimensions();
        dimension.set_start(Number(ends.first));
        dimension.set_limit(Number(ends.second));
        dimension.set_stride(1);
      }
    } else if (key == "target") {
      instruction.set_custom_call_target(value);
    } else if (key == "value") {
      // Field 8 is the literal; its field 4 contains packed s32s.
      const char literal[] = {'\x22', '\x01', static_cast<char>(Number(value))};
      xla::HloInstructionProto with_literal;
      with_literal.ParseFromString(std::string("\x42\x03", 2) + std::string(literal, 3));
      instruction.MergeFrom(with_literal);
    } else if (key == "after") {
      instruction.add_control_predecessor_ids(Id(computation_->name(), value));
    } else if (key == "over") {
      const std::vector<std::string> numbers = absl::StrSplit(value, ':');
      xla::OutputOperandAliasing& alias = *instruction.add_output_operand_aliasing();
      alias.set_operand_index(Number(numbers[0]));
      if (numbers.size() > 1) alias.add_output_shape_index(Number(numbers[1]));
    } else if (key == "prefetch") {
      instruction.set_cross_program_prefetch_index(Number(value));
    } else if (key == "effect") {
      instruction.set_custom_call_has_side_effect(true);
    } else if (key == "config") {
      instruction.set_backend_config(value);
    } else if (key == "stated") {
      for (const int64_t id : instruction.operand_ids()) {
        for (const auto& operand : computation_->instructions()) {
          if (operand.id() == id) *instruction.add_operand_shapes_with_layout() = operand.shape();
        }
      }
    } else {
      Abort("no such attribute", key);
    }
  }

  // Sets the program shape that a computation states.
  void Finish(xla::HloComputationProto& computation) {
    xla::ProgramShapeProto& shape = *computation.mutable_program_shape();
    std::map<int64_t, const xla::ShapeProto*> parameters;
    for (const xla::HloInstructionProto& instruction : computation.instructions()) {
      if (instruction.id() == computation.root_id()) *shape.mutable_result() = instruction.shape();
      if (instruction.opcode() != "parameter") continue;
      parameters[instruction.parameter_number()] = &instruction.shape();
    }
    for (const auto& [number, parameter] : parameters) *shape.add_parameters() = *parameter;
    if (computation.id() == module_.entry_computation_id()) {
      *module_.mutable_host_program_shape() = shape;
    }
  }

  int64_t Id(const std::string& computation, const std::string& name) {
    const auto id = ids_.find({computation, name});
    if (id == ids_.end()) Abort("no such instruction", name);
    return id->second;
  }

  xla::HloScheduleProto::InstructionSequence& Sequence(const std::string& computation) {
    return (*module_.mutable_schedule()->mutable_sequences())[computations_.at(computation)];
  }

  xla::HloModuleProto module_;
  xla::HloComputationProto* computation_ = nullptr;
  std::map<std::string, int64_t> computations_;
  std::map<std::pair<std::string, std::string>, int64_t> ids_;
};

}  // namespace

xla::HloModuleProto ModuleFromText(absl::string_view text) { return Reader().Read(text); }

std::string Replaced(absl::string_view text, absl::string_view from, absl::string_view to) {
  const size_t at = text.find(from);
  if (at == absl::string_view::npos) Abort("nothing to replace", from);
  if (text.find(from, at + 1) != absl::string_view::npos) Abort("more than one to replace", from);
  return absl::StrCat(text.substr(0, at), to, text.substr(at + from.size()));
}

}  // namespace mallocmuzero::place_check
