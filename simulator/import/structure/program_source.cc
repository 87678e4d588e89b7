#include "simulator/import/structure/program_source.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "simulator/import/structure/source.h"

namespace mallocmuzero {
namespace {

// True if some access of the instruction has among its positions the operand, an array, and the
// output at `tuple_index`.
bool SharesBuffer(const v1::Program& program, const v1::Instruction& instruction, int32_t operand,
                  absl::Span<const int32_t> tuple_index) {
  for (uint32_t k = 0; k < instruction.access_count(); ++k) {
    bool reads = false;
    bool writes = false;
    const int index = instruction.first_access() + k;
    for (const v1::Position& position : program.accesses(index).positions()) {
      const bool same_index =
          std::equal(position.tuple_index().begin(), position.tuple_index().end(),
                     tuple_index.begin(), tuple_index.end());
      reads = reads || (position.operand() == operand && position.tuple_index().empty());
      writes = writes || (position.operand() < 0 && same_index);
    }
    if (reads && writes) return true;
  }
  return false;
}

// The pairs that `listing`, an instruction of the all-HBM module, lists as aliases, and that share
// a buffer in the program. `instruction` is the same instruction in the program.
std::vector<InPlacePair> SharedListedPairs(const v1::Program& program,
                                           const v1::Instruction& instruction,
                                           const hlo::Instruction& listing) {
  std::vector<InPlacePair> pairs = ListedPairs(listing);
  if (pairs.empty()) return pairs;
  const std::vector<hlo::ShapeIndex> leaves = hlo::LeafIndices(listing.shape);
  std::erase_if(pairs, [&](const InPlacePair& pair) {
    return !SharesBuffer(program, instruction, pair.operand, leaves[pair.output_leaf]);
  });
  return pairs;
}

// The pairs that the all-HBM module lists and that share a buffer in the program, which has no
// source. The importer compared all compiles to find which of the listed pairs hold; this recovers
// its answer from the accesses of the program.
InPlaceHints PairsOfAccesses(const v1::Program& program, const hlo::Module& all_hbm) {
  absl::flat_hash_map<absl::string_view, const v1::Instruction*> by_name;
  for (const v1::Instruction& instruction : program.instructions()) {
    by_name[instruction.name()] = &instruction;
  }
  InPlaceHints hints;
  for (const hlo::Computation& computation : all_hbm.computations) {
    for (const hlo::Instruction& instruction : computation.instructions) {
      const auto found = by_name.find(absl::string_view(instruction.name));
      if (found == by_name.end()) continue;
      for (const InPlacePair& pair : SharedListedPairs(program, *found->second, instruction)) {
        hints[instruction.name].push_back(pair);
      }
    }
  }
  return hints;
}

// The parts of a program that depend on the all-HBM text alone, serialised for comparison.
std::string StructureOf(const v1::Program& program) {
  v1::Program structure;
  *structure.mutable_instructions() = program.instructions();
  *structure.mutable_accesses() = program.accesses();
  *structure.mutable_tensors() = program.tensors();
  *structure.mutable_buffers() = program.buffers();
  *structure.mutable_carried_groups() = program.carried_groups();
  *structure.mutable_loops() = program.loops();
  return SerializeDeterministically(structure);
}

absl::Status CheckIsSource(const v1::Program& program, const v1::Program& assembled,
                           const std::string& all_hbm_path) {
  if (StructureOf(program) == StructureOf(assembled)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      all_hbm_path, ": expected the all-HBM compile that ", program.name(), " was imported from (",
      program.instructions_size(), " instructions, ", program.accesses_size(),
      " accesses), found another module (", assembled.instructions_size(), " instructions, ",
      assembled.accesses_size(), " accesses)"));
}

}  // namespace

absl::StatusOr<ProgramSource> AnalyzeProgramSource(const v1::Program& program, hlo::Module all_hbm,
                                                   const std::string& path) {
  ProgramSource source;
  source.hints =
      program.has_source() ? HintsFromSource(program) : PairsOfAccesses(program, all_hbm);
  auto analyzed = AnalyzeModule(std::move(all_hbm), path, source.hints);
  if (!analyzed.ok()) return analyzed.status();
  source.all_hbm = *std::move(analyzed);
  source.assembly = Assemble(*source.all_hbm, program.hardware());
  MMZ_RETURN_IF_ERROR(CheckIsSource(program, source.assembly.program, path));
  return source;
}

}  // namespace mallocmuzero
