#include "bench/reorder/reordered_program.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/list_folder.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/index_fields.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/structure/assemble.h"

namespace mallocmuzero::reorder {
namespace {

// The in-place pairs that all compiles in the folder agree on, found as the importer finds them. A
// single compile gives none.
absl::StatusOr<InPlaceHints> ReadHints(const std::string& captures) {
  std::vector<std::string> paths = {captures + "/all_hbm.hlo.zst"};
  const absl::StatusOr<std::vector<std::filesystem::directory_entry>> entries =
      ListFolder(captures);
  if (!entries.ok()) return entries.status();
  for (const std::filesystem::directory_entry& file : *entries) {
    const std::string path = file.path().string();
    if (path.ends_with(".hlo.zst") && path != paths[0]) paths.push_back(path);
  }
  std::vector<hlo::Module> modules;
  for (const std::string& path : paths) {
    absl::StatusOr<hlo::Module> module = ReadModule(path);
    if (!module.ok()) return module.status();
    modules.push_back(*std::move(module));
  }
  std::vector<const hlo::Module*> all;
  for (const hlo::Module& module : modules) all.push_back(&module);
  return modules.size() > 1 ? CommonListedPairs(all) : InPlaceHints();
}

// True if two accesses differ only in their position.
bool AreAlike(const v1::Access& a, const v1::Access& b) {
  return a.kind() == b.kind() && a.bytes() == b.bytes() &&
         a.bytes_accessed() == b.bytes_accessed() && a.positions_size() == b.positions_size() &&
         (a.positions_size() == 0 ||
          (a.positions(0).operand() == b.positions(0).operand() &&
           a.positions(0).tuple_index_size() == b.positions(0).tuple_index_size()));
}

}  // namespace

Plan PlayableOrder::FromOriginal(const Plan& plan) const {
  Plan here(plan.size());
  for (const AccessIndex a : plan.indices()) here[a] = plan[original_access[a]];
  return here;
}

Plan PlayableOrder::ToOriginal(const Plan& plan) const {
  Plan there(plan.size());
  for (const AccessIndex a : plan.indices()) there[original_access[a]] = plan[a];
  return there;
}

Reorderer::Reorderer(Program original, InPlaceHints hints)
    : original_(std::move(original)), hints_(std::move(hints)) {}

absl::StatusOr<std::unique_ptr<Reorderer>> Reorderer::Load(const std::string& program_path,
                                                           const std::string& captures) {
  absl::StatusOr<Program> program = LoadProgram(program_path);
  if (!program.ok()) return program.status();
  absl::StatusOr<InPlaceHints> hints = ReadHints(captures);
  if (!hints.ok()) return hints.status();
  std::unique_ptr<Reorderer> made(new Reorderer(*std::move(program), *std::move(hints)));
  MMZ_RETURN_IF_ERROR(made->ReadEntry(captures + "/all_hbm.hlo.zst"));
  const absl::StatusOr<std::unique_ptr<PlayableOrder>> same = made->Build(made->OriginalOrder());
  if (!same.ok()) return same.status();
  return made;
}

absl::Status Reorderer::ReadEntry(const std::string& path) {
  path_ = path;
  absl::StatusOr<hlo::Module> module = ReadModule(path);
  if (!module.ok()) return module.status();
  absl::StatusOr<std::unique_ptr<AnalyzedModule>> analyzed =
      AnalyzeModule(*std::move(module), path, hints_);
  if (!analyzed.ok()) return analyzed.status();
  if ((*analyzed)->priced.size() != original_.instruction_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": expected the ", original_.instruction_count(), " instructions of the program '",
        original_.proto().name(), "', found ", (*analyzed)->priced.size()));
  }
  graph_ = FindDependencies(**analyzed);
  unit_end_.resize((*analyzed)->priced.size());
  for (const DependencyGraph::Unit& unit : graph_.units) {
    for (InstructionIndex p = unit.first_priced; p < unit.end_priced; ++p)
      unit_end_[p] = unit.end_priced - 1;
  }
  module_ = std::move((*analyzed)->module);
  for (const hlo::Instruction& instruction : module_.Entry().instructions) {
    names_.emplace_back(instruction.name);
    hlo::Instruction& kept = as_read_.instructions.emplace_back();
    kept.operands = instruction.operands;
    kept.control_predecessors = instruction.control_predecessors;
  }
  place_.resize(names_.size());
  std::iota(place_.begin(), place_.end(), 0);
  return absl::OkStatus();
}

Order Reorderer::OriginalOrder() const {
  Order order(graph_.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void Reorderer::Permute(const Order& order) {
  const std::vector<hlo::InstructionIndex> all = EntryOrder(as_read_, graph_, order);
  hlo::Computation& entry = module_.computations[module_.entry];
  std::vector<hlo::Instruction> permuted;
  // for each previous index in module_: the new one
  std::vector<hlo::InstructionIndex> renamed(all.size());
  for (const hlo::InstructionIndex i : all) {
    renamed[place_[i]] = Size32(permuted);
    permuted.push_back(std::move(entry.instructions[place_[i]]));
  }
  for (hlo::Instruction& instruction : permuted) {
    for (hlo::InstructionIndex& operand : instruction.operands) operand = renamed[operand];
    for (hlo::InstructionIndex& p : instruction.control_predecessors) p = renamed[p];
  }
  entry.instructions = std::move(permuted);
  entry.root = renamed[entry.root];
  for (hlo::InstructionIndex& parameter : entry.parameters) parameter = renamed[parameter];
  for (auto& [name, index] : entry.by_name) index = renamed[index];
  for (hlo::InstructionIndex& place : place_) place = renamed[place];
}

absl::StatusOr<std::unique_ptr<PlayableOrder>> Reorderer::Build(const Order& order) {
  if (!IsLegal(graph_, order)) {
    return absl::InvalidArgumentError("expected an order that keeps all dependencies");
  }
  Permute(order);
  absl::StatusOr<std::unique_ptr<AnalyzedModule>> analyzed =
      AnalyzeModule(std::move(module_), path_, hints_);
  if (!analyzed.ok()) return analyzed.status();
  v1::Program program = Assemble(**analyzed, original_.hardware()).program;
  module_ = std::move((*analyzed)->module);

  std::vector<InstructionIndex> from;
  for (const int32_t unit : order) {
    for (InstructionIndex p = graph_.units[unit].first_priced; p < graph_.units[unit].end_priced;
         ++p) {
      from.push_back(p);
    }
  }
  absl::StatusOr<IndexVector<AccessIndex, AccessIndex>> accesses = MatchAccesses(program, from);
  if (!accesses.ok()) return accesses.status();
  program.set_name(original_.proto().name());
  const v1::LatencyTable& latency = original_.proto().latency();
  *program.mutable_latency()->mutable_classes() = latency.classes();
  for (const InstructionIndex i : from)
    *program.mutable_latency()->add_instructions() = ElementOf(latency.instructions(), i);
  if (order != OriginalOrder()) {
    KeepPrefetch(program, from, *accesses);
  } else if (original_.proto().has_baseline()) {
    *program.mutable_baseline() = original_.proto().baseline();
  }
  SealProgram(program);
  absl::StatusOr<Program> checked = Program::FromProto(std::move(program));
  if (!checked.ok()) return checked.status();
  auto playable = std::make_unique<PlayableOrder>(order, *std::move(checked));
  playable->original_access = *std::move(accesses);
  return playable;
}

absl::StatusOr<IndexVector<AccessIndex, AccessIndex>> Reorderer::MatchAccesses(
    const v1::Program& program, const std::vector<InstructionIndex>& from) const {
  IndexVector<AccessIndex, AccessIndex> accesses;
  const v1::Program& original = original_.proto();
  bool alike = program.instructions_size() == std::ssize(from) &&
               program.accesses_size() == original.accesses_size() &&
               program.buffers_size() == original.buffers_size();
  for (int i = 0; alike && i < program.instructions_size(); ++i) {
    const v1::Instruction& here = program.instructions(i);
    const v1::Instruction& there = ElementOf(original.instructions(), from[i]);
    alike = here.name() == there.name() && here.access_count() == there.access_count();
    for (uint32_t k = 0; alike && k < here.access_count(); ++k) {
      accesses.push_back(AccessIndex(there.first_access() + k));
      alike = AreAlike(program.accesses(here.first_access() + k),
                       ElementOf(original.accesses(), accesses.back()));
    }
  }
  if (alike) return accesses;
  return absl::InvalidArgumentError(
      absl::StrCat(path_, ": expected the instructions and accesses of the program '",
                   original.name(), "', found others"));
}

void Reorderer::KeepPrefetch(v1::Program& program, const std::vector<InstructionIndex>& from,
                             const IndexVector<AccessIndex, AccessIndex>& original_access) const {
  if (original_.baseline() == nullptr) return;
  const Mapping& baseline = original_.baseline()->mapping;
  // for each instruction of the original: its new position
  IndexVector<InstructionIndex, uint32_t> place(from.size());
  for (size_t i = 0; i < from.size(); ++i) place[from[i]] = i;
  for (const Interval& interval : baseline.intervals) {
    if (!interval.cross_program_prefetch) continue;
    v1::Mapping& mapping = *program.mutable_baseline()->mutable_mapping();
    v1::Interval& kept = *mapping.add_intervals();
    for (const AccessIndex a : original_access.indices()) {
      const Access& access = original_.accesses()[original_access[a]];
      const bool uses = access.buffer == interval.buffer && access.instruction <= interval.last &&
                        baseline.in_fast_memory[original_access[a]] != 0;
      mapping.add_in_fast_memory(uses);
      if (!uses) continue;
      kept.set_buffer(ElementOf(program.accesses(), a).buffer());
      kept.set_last(std::max(kept.last(), place[unit_end_[access.instruction]]));
    }
    kept.set_cross_program_prefetch(true);
    return;
  }
}

std::vector<std::string> Reorderer::InstructionNames(const Order& order) const {
  std::vector<std::string> names;
  for (const hlo::InstructionIndex i : EntryOrder(as_read_, graph_, order)) {
    names.push_back(names_[i]);
  }
  return names;
}

int64_t PeakHbmBytes(const Program& program) {
  IndexVector<InstructionIndex, int64_t> change(program.instruction_count() + 1, 0);
  for (const Buffer& buffer : program.buffers()) {
    change[buffer.live_in ? InstructionIndex(0) : buffer.first] += buffer.bytes;
    const bool stays = buffer.live_in || buffer.live_out;
    change[stays ? program.instructions().end_index() : buffer.last + 1] -= buffer.bytes;
  }
  int64_t peak = 0;
  int64_t live = 0;
  for (const int64_t by : change) peak = std::max(peak, live += by);
  return peak;
}

}  // namespace mallocmuzero::reorder
