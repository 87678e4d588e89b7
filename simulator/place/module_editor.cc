#include "simulator/place/module_editor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::place {
namespace {

// The bits of an instruction's id that XLA keeps. The bits above are the id of the computation,
// which XLA sets again when it reads the computation (HloComputation::CreateFromProto).
constexpr int64_t kNumberInComputation = 0xffffffff;

}  // namespace

ModuleEditor::ModuleEditor(xla::HloModuleProto module) : module_(std::move(module)) {
  Index();
  for (const xla::HloComputationProto& computation : module_.computations()) {
    names_.insert(computation.name());
    last_computation_id_ = std::max(last_computation_id_, computation.id());
    for (const xla::HloInstructionProto& instruction : computation.instructions()) {
      names_.insert(instruction.name());
      last_id_ = std::max(last_id_, instruction.id() & kNumberInComputation);
    }
  }
}

void ModuleEditor::Index() {
  computation_by_id_.clear();
  computation_by_name_.clear();
  for (int i = 0; i < module_.computations_size(); ++i) {
    computation_by_id_[module_.computations(i).id()] = i;
    computation_by_name_[module_.computations(i).name()] = i;
  }
}

xla::HloComputationProto* ModuleEditor::FindComputation(int64_t id) {
  const auto found = computation_by_id_.find(id);
  return found == computation_by_id_.end() ? nullptr : module_.mutable_computations(found->second);
}

xla::HloComputationProto* ModuleEditor::FindComputation(absl::string_view name) {
  const auto found = computation_by_name_.find(std::string(name));
  return found == computation_by_name_.end() ? nullptr
                                             : module_.mutable_computations(found->second);
}

std::string ModuleEditor::NewName(absl::string_view stem) {
  std::string name;
  do {
    name = absl::StrCat(stem, ".placed.", ++last_name_);
  } while (!names_.insert(name).second);
  return name;
}

void ModuleEditor::OwnFusedComputation(xla::HloInstructionProto& fusion) {
  if (fusion.called_computation_ids_size() != 1) return;
  const int64_t id = fusion.called_computation_ids(0);
  if (owned_.insert(id).second) return;
  const int64_t copy = CopyComputation(id);
  if (copy >= 0) fusion.set_called_computation_ids(0, copy);
}

// The copy goes in front of the computation that it copies, so that callees still come before
// callers.
int64_t ModuleEditor::CopyComputation(int64_t id) {
  const xla::HloComputationProto* original = FindComputation(id);
  if (original == nullptr) return -1;
  xla::HloComputationProto copy = *original;
  copy.set_id(++last_computation_id_);
  copy.set_name(NewName(copy.name()));
  absl::flat_hash_map<int64_t, int64_t> new_id;
  for (xla::HloInstructionProto& instruction : *copy.mutable_instructions()) {
    const int64_t old = instruction.id();
    instruction.set_id(NewId());
    new_id[old] = instruction.id();
    instruction.set_name(NewName(instruction.name()));
    for (int64_t& operand : *instruction.mutable_operand_ids()) operand = new_id[operand];
    for (int64_t& before : *instruction.mutable_control_predecessor_ids()) before = new_id[before];
  }
  copy.set_root_id(new_id[copy.root_id()]);
  const int64_t copy_id = copy.id();
  const int at = computation_by_id_[id];
  *module_.add_computations() = std::move(copy);
  auto* computations = module_.mutable_computations();
  std::rotate(computations->pointer_begin() + at, computations->pointer_end() - 1,
              computations->pointer_end());
  Index();
  owned_.insert(copy_id);
  return copy_id;
}

}  // namespace mallocmuzero::place
