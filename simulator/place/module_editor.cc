#include "simulator/place/module_editor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace mallocmuzero::place {
namespace {

// The bits of an instruction's id that XLA keeps. The bits above are the id of the computation,
// which XLA sets again when it reads the computation (HloComputation::CreateFromProto).
constexpr int64_t kNumberInComputation = 0xffffffff;

// Fusions inside each other may have many more copies than the module has computations.
constexpr int64_t kMostCopied = 1 << 18;

}  // namespace

ModuleEditor::ModuleEditor(xla::HloModuleProto module) : module_(std::move(module)) {
  Index();
  FindShared();
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
  last_ = module_.computations_size() - 1;
  for (int i = 0; i <= last_; ++i) {
    computation_by_id_[module_.computations(i).id()] = i;
    computation_by_name_[module_.computations(i).name()] = i;
    before_.push_back(i - 1);
  }
}

// Takes the computations that several instructions call, unless these are fusions that are not
// fused themselves. Such a fusion may edit what it calls, because all others are prepared, too. A
// fusion inside another one is prepared only if its memories change.
void ModuleEditor::FindShared() {
  absl::flat_hash_set<int64_t> fused;
  for (const xla::HloComputationProto& computation : module_.computations()) {
    for (const xla::HloInstructionProto& instruction : computation.instructions()) {
      if (instruction.opcode() != "fusion") continue;
      for (const int64_t id : instruction.called_computation_ids()) fused.insert(id);
    }
  }
  absl::flat_hash_map<int64_t, int> callers;
  absl::flat_hash_set<int64_t> called_inside;
  for (const xla::HloComputationProto& computation : module_.computations()) {
    for (const xla::HloInstructionProto& instruction : computation.instructions()) {
      const bool inside = instruction.opcode() != "fusion" || fused.contains(computation.id());
      for (const int64_t id : instruction.called_computation_ids()) {
        ++callers[id];
        if (inside) called_inside.insert(id);
      }
    }
  }
  for (const int64_t id : called_inside) {
    if (callers[id] > 1) taken_.insert(id);
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

absl::Status ModuleEditor::OwnFusedComputation(xla::HloInstructionProto& fusion) {
  if (fusion.called_computation_ids_size() != 1) return absl::OkStatus();
  const int64_t id = fusion.called_computation_ids(0);
  if (taken_.insert(id).second) return absl::OkStatus();
  const auto shared = computation_by_id_.find(id);
  if (shared == computation_by_id_.end()) return absl::OkStatus();
  copied_ += module_.computations(shared->second).instructions_size();
  if (copied_ > kMostCopied) {
    return absl::FailedPreconditionError(
        absl::StrCat("%", fusion.name(), ": fusions share computations, and copies for each of ",
                     "them have more than ", kMostCopied, " instructions"));
  }
  fusion.set_called_computation_ids(0, CopyComputation(shared->second));
  return absl::OkStatus();
}

int64_t ModuleEditor::CopyComputation(int index) {
  xla::HloComputationProto copy = module_.computations(index);
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
    for (const int64_t inner : instruction.called_computation_ids()) taken_.insert(inner);
  }
  copy.set_root_id(new_id[copy.root_id()]);
  const int64_t copy_id = copy.id();
  const int copy_index = module_.computations_size();
  computation_by_id_[copy_id] = copy_index;
  computation_by_name_[copy.name()] = copy_index;
  before_.push_back(std::exchange(before_[index], copy_index));
  *module_.add_computations() = std::move(copy);
  taken_.insert(copy_id);
  return copy_id;
}

xla::HloModuleProto ModuleEditor::Take() && {
  std::vector<xla::HloComputationProto*> order;
  for (int i = last_; i >= 0; i = before_[i]) order.push_back(module_.mutable_computations(i));
  std::copy(order.rbegin(), order.rend(), module_.mutable_computations()->pointer_begin());
  return std::move(module_);
}

}  // namespace mallocmuzero::place
