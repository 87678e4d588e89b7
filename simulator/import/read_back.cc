#include "simulator/import/read_back.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "simulator/core/simulate.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/baseline/baseline.h"
#include "simulator/import/matching/match.h"
#include "simulator/import/structure/program_source.h"
#include "simulator/import/structure/source.h"

namespace mallocmuzero {
namespace {

// A report lists this many mismatches, the largest ones.
constexpr size_t kMaxMismatches = 200;

void AddMismatches(const Program& program, const Mapping& wanted, std::vector<AccessIndex> accesses,
                   v1::ReadBackReport& report) {
  std::stable_sort(accesses.begin(), accesses.end(), [&](AccessIndex a, AccessIndex b) {
    return program.BytesMoved(program.accesses()[a]) > program.BytesMoved(program.accesses()[b]);
  });
  report.set_mismatch_count(accesses.size());
  if (accesses.size() > kMaxMismatches) accesses.resize(kMaxMismatches);
  for (const AccessIndex a : accesses) {
    const Access& access = program.accesses()[a];
    v1::ReadBackReport::Mismatch& mismatch = *report.add_mismatches();
    mismatch.set_access(a.number());
    mismatch.set_instruction(program.MessageOf(access.instruction).name());
    mismatch.set_buffer(access.buffer.number());
    mismatch.set_bytes(static_cast<double>(access.bytes_accessed));
    mismatch.set_executions(program.instructions()[access.instruction].execution_count);
    mismatch.set_wanted_fast(wanted.in_fast_memory[a] != 0);
  }
}

// If `whole` is 0, the share is 1: the compiler refused nothing.
double Share(double part, double whole) { return whole > 0 ? part / whole : 1; }

}  // namespace

absl::StatusOr<ModuleReader> ModuleReader::Create(const Program& program,
                                                  const std::string& all_hbm_path) {
  ModuleReader reader(program);
  if (!program.proto().has_source()) {
    if (all_hbm_path.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          program.proto().name(), ": expected a program that says which value is in which buffer, ",
          "found one of an older import: import it again, or give its all-HBM compile "
          "(--all-hbm)"));
    }
    absl::StatusOr<hlo::Module> module = ReadModule(all_hbm_path);
    if (!module.ok()) return module.status();
    absl::StatusOr<ProgramSource> source =
        AnalyzeProgramSource(program.proto(), *std::move(module), all_hbm_path);
    if (!source.ok()) return source.status();
    reader.assembled_ = std::make_unique<const v1::Program>(std::move(source->assembly.program));
  }
  reader.hints_ = HintsFromSource(reader.WithSource());
  return reader;
}

absl::StatusOr<ReadBack> ModuleReader::Read(const std::string& hlo_path) const {
  absl::StatusOr<hlo::Module> module = ReadModule(hlo_path);
  if (!module.ok()) return module.status();
  const auto compiled = AnalyzeModule(*std::move(module), hlo_path, hints_);
  if (!compiled.ok()) return compiled.status();
  const Match match = MatchModule(WithSource(), **compiled);
  if (match.report.matched_by_name() + match.report.matched_by_metadata() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(hlo_path, ": expected a compile of ", program_->proto().name(),
                     ", found a module that has none of its instructions"));
  }
  v1::Baseline placed = MakeBaseline(WithSource(), **compiled, match);
  FillHeader(*placed.mutable_mapping());
  placed.mutable_mapping()->set_program_sha256(program_->proto().fingerprint());
  placed.mutable_mapping()->set_solver("read back");
  ReadBack result;
  absl::StatusOr<Mapping> mapping = MappingFromProto(placed.mapping(), *program_);
  if (!mapping.ok()) return StatusAt(hlo_path, mapping.status());
  result.mapping = *std::move(mapping);
  result.packed = placed.packed();
  for (const int32_t other : match.other_of_base) result.matched.push_back(other >= 0 ? 1 : 0);
  if (placed.estimated_cycles() > 0) result.compiled_cycles = placed.total_cycles();
  result.notes.assign(placed.notes().begin(), placed.notes().end());
  return result;
}

v1::ReadBackReport MakeReadBackReport(const Program& program, const ReadBack& read_back,
                                      const Mapping* wanted) {
  v1::ReadBackReport report;
  report.set_program(program.proto().name());
  if (read_back.compiled_cycles) report.set_compiled_cycles(*read_back.compiled_cycles);
  report.set_mapped_cycles(Simulate(program, read_back.mapping).total_cycles);
  if (program.baseline() != nullptr) {
    report.set_default_cycles(program.baseline()->compiled_cycles);
    report.set_default_mapped_cycles(program.baseline()->mapped_cycles);
  }
  report.set_packed(read_back.packed);
  report.set_fast_memory_bytes(static_cast<double>(program.hardware().fast_memory_bytes()));
  double all = 0;
  double matched = 0;
  double followed = 0;
  std::vector<AccessIndex> mismatches;
  for (const AccessIndex a : program.accesses().indices()) {
    const Access& access = program.accesses()[a];
    const double bytes = program.BytesMoved(access);
    all += bytes;
    if (read_back.mapping.in_fast_memory[a] != 0) report.add_fast_accesses(a.number());
    if (read_back.matched[access.instruction] == 0) continue;
    matched += bytes;
    if (wanted == nullptr) continue;
    if (read_back.mapping.in_fast_memory[a] == wanted->in_fast_memory[a]) {
      followed += bytes;
    } else {
      mismatches.push_back(a);
    }
  }
  report.set_matched_share(Share(matched, all));
  for (const std::string& note : read_back.notes) report.add_notes(note);
  if (wanted == nullptr) return report;
  report.set_wanted_cycles(Simulate(program, *wanted).total_cycles);
  report.set_followed_share(Share(followed, matched));
  AddMismatches(program, *wanted, std::move(mismatches), report);
  return report;
}

}  // namespace mallocmuzero
