#include "simulator/hlo/print_module.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "simulator/hlo/opcode.h"
#include "simulator/hlo/print_computation.h"

namespace mallocmuzero::hlo {
namespace {

using xla::HloComputationProto;
using xla::HloInstructionProto;
using xla::HloModuleProto;

// The root of a computation if all its other instructions are parameters, else nullptr.
const HloInstructionProto* OnlyInstruction(const HloComputationProto& computation) {
  const HloInstructionProto* root = nullptr;
  for (const HloInstructionProto& instruction : computation.instructions()) {
    if (instruction.id() == computation.root_id()) {
      root = &instruction;
    } else if (OpcodeFromName(instruction.opcode()) != Opcode::kParameter) {
      return nullptr;
    }
  }
  return root;
}

absl::StatusOr<ProtoModule> IndexComputations(const HloModuleProto& proto, size_t max_bytes) {
  ProtoModule module{.proto = proto, .max_bytes = max_bytes};
  for (int i = 0; i < proto.computations_size(); ++i) {
    const HloComputationProto& computation = proto.computations(i);
    if (!IsPrintableName(computation.name())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "computations[", i, "].name: expected letters, digits, '_', '.' and '-', at most ",
          kMaxNameBytes));
    }
    if (!module.computation_of_id.emplace(computation.id(), i).second) {
      return absl::InvalidArgumentError(absl::StrCat("computations[", i,
                                                     "].id: expected a number that is not taken "
                                                     "yet, found ",
                                                     computation.id()));
    }
    module.wrapped.push_back(OnlyInstruction(computation));
  }
  return module;
}

// Ids of the computations that are printed at their call: an async-start calls them, and no other
// instruction whose call is printed does.
absl::flat_hash_set<int64_t> PrintedInPlace(const ProtoModule& module) {
  absl::flat_hash_set<int64_t> started;
  absl::flat_hash_set<int64_t> called;
  for (const HloComputationProto& computation : module.proto.computations()) {
    for (const HloInstructionProto& instruction : computation.instructions()) {
      const auto& ids = instruction.called_computation_ids();
      const Opcode opcode = ids.empty() ? Opcode::kUnknown : OpcodeFromName(instruction.opcode());
      if (opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) continue;
      auto& set = opcode == Opcode::kAsyncStart && ids.size() == 1 ? started : called;
      set.insert(ids.begin(), ids.end());
    }
  }
  absl::erase_if(started, [&](int64_t id) {
    const auto found = module.computation_of_id.find(id);
    return called.contains(id) || id == module.proto.entry_computation_id() ||
           found == module.computation_of_id.end() ||
           !IsPrintedInPlace(module.wrapped[found->second]);
  });
  return started;
}

// XLA prints the name as it is, but blanks or commas in it would make the text unreadable.
std::string ModuleName(absl::string_view name) {
  std::string printable(name.substr(0, kMaxNameBytes));
  for (char& byte : printable) {
    if (!IsPrintableName(absl::string_view(&byte, 1))) byte = '_';
  }
  return printable.empty() ? "module" : printable;
}

std::string Header(const HloModuleProto& module) {
  std::string header = absl::StrCat("HloModule ", ModuleName(module.name()));
  if (module.has_schedule()) header.append(", is_scheduled=true");
  if (module.input_output_alias().entries().empty()) return header;
  constexpr int32_t kMustAlias = 2;
  using Entry = xla::HloInputOutputAliasProto::AliasEntryProto;
  absl::StrAppend(&header, ", input_output_alias={ ",
                  absl::StrJoin(module.input_output_alias().entries(), ", ",
                                [](std::string* out, const Entry& entry) {
                                  absl::StrAppend(
                                      out, "{", absl::StrJoin(entry.output_shape_index(), ","),
                                      "}: (", entry.parameter_number(), ", {",
                                      absl::StrJoin(entry.parameter_shape_index(), ","), "}, ",
                                      entry.kind() == kMustAlias ? "must" : "may", "-alias)");
                                }),
                  " }");
  return header;
}

}  // namespace

absl::StatusOr<std::string> PrintModule(const HloModuleProto& proto, size_t max_bytes) {
  const absl::StatusOr<ProtoModule> module = IndexComputations(proto, max_bytes);
  if (!module.ok()) return module.status();
  if (!module->computation_of_id.contains(proto.entry_computation_id())) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry_computation_id: expected the id of a computation, found ",
                     proto.entry_computation_id()));
  }
  const absl::flat_hash_set<int64_t> in_place = PrintedInPlace(*module);
  std::string text = Header(proto);
  text.push_back('\n');
  for (int i = 0; i < proto.computations_size(); ++i) {
    const HloComputationProto& computation = proto.computations(i);
    if (in_place.contains(computation.id())) continue;
    text.append(computation.id() == proto.entry_computation_id() ? "\nENTRY " : "\n");
    const absl::Status status = AppendComputation(*module, i, text);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("%", computation.name(), ": ", status.message()));
    }
  }
  return text;
}

}  // namespace mallocmuzero::hlo
