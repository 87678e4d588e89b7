#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {
namespace {

template <typename Map>
absl::optional<int32_t> FindByName(const Map& by_name, absl::string_view name) {
  const auto found = by_name.find(name);
  if (found == by_name.end()) return absl::nullopt;
  return found->second;
}

}  // namespace

absl::string_view Instruction::FindAttribute(absl::string_view attribute_name) const {
  for (const Attribute& attribute : attributes) {
    if (attribute.name == attribute_name) return attribute.value;
  }
  return "";
}

absl::optional<ComputationIndex> Instruction::Called(CallRole role) const {
  for (const CalledComputation& call : called_computations) {
    if (call.role == role) return call.computation;
  }
  return absl::nullopt;
}

absl::optional<InstructionIndex> Computation::Find(absl::string_view instruction_name) const {
  return FindByName(by_name, instruction_name);
}

absl::optional<ComputationIndex> Module::Find(absl::string_view computation_name) const {
  return FindByName(by_name, computation_name);
}

}  // namespace mallocmuzero::hlo
