#include "simulator/import/import.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_at.h"
#include "base/utf8.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/analysis/module_notes.h"
#include "simulator/import/baseline/baseline.h"
#include "simulator/import/latency/calibrate.h"
#include "simulator/import/latency/latency_fit.h"
#include "simulator/import/matching/match.h"
#include "simulator/import/matching/placement.h"
#include "simulator/import/structure/assemble.h"

namespace mallocmuzero {
namespace {

// import notes the difference if the price of the default as a mapping differs by more than this
// share from that of its module.
constexpr double kTolerableDifference = 1e-3;

absl::Status Cancelled() { return absl::CancelledError("the import was cancelled"); }

class Importer {
 public:
  Importer(const ImportOptions& options, const v1::Hardware& hardware)
      : options_(options), hardware_(hardware) {}

  absl::StatusOr<v1::Program> Run() && {
    absl::Status status = Analyze();
    if (!status.ok()) return status;
    program_ = Assemble(all_hbm(), hardware_).program;
    if (program().instructions_size() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          options_.all_hbm_path, ": expected an instruction that takes time, found none"));
    }
    program().set_name(options_.program_name.empty() ? std::string(all_hbm().module.name)
                                                     : ToUtf8(options_.program_name));
    NoteFastMemory();
    NoteWrongCompile();
    for (const auto& compile : compiles_) {
      if (options_.stop()) return Cancelled();
      status = AddPlacement(*compile);
      if (!status.ok()) return status;
    }
    const LatencyClasses classes = ClassifyInstructions(program(), all_hbm());
    absl::StatusOr<v1::LatencyTable> latency =
        FitLatencyTable(program(), classes, placements_, -1, options_.stop);
    if (!latency.ok()) return latency.status();
    *program().mutable_latency() = *std::move(latency);
    absl::StatusOr<v1::Calibration> calibration =
        Calibrate(program(), classes, placements_, options_.stop);
    if (!calibration.ok()) return StatusAt(options_.all_hbm_path, calibration.status());
    *program().mutable_calibration() = *std::move(calibration);
    return Finish();
  }

 private:
  v1::Program& program() { return program_; }
  const AnalyzedModule& all_hbm() const { return *compiles_.front(); }

  // Reads all compiles before it analyses any, because only pairs that all compiles list count as
  // in-place updates.
  absl::Status Analyze() {
    std::vector<std::string> paths = {options_.all_hbm_path};
    if (!options_.default_path.empty()) paths.push_back(options_.default_path);
    paths.insert(paths.end(), options_.sample_paths.begin(), options_.sample_paths.end());
    first_placed_ = paths.size();
    paths.insert(paths.end(), options_.placed_paths.begin(), options_.placed_paths.end());
    std::vector<hlo::Module> modules;
    for (const std::string& path : paths) {
      if (options_.stop()) return Cancelled();
      absl::StatusOr<std::string> bytes = options_.read_file(path);
      if (!bytes.ok()) return bytes.status();
      absl::StatusOr<hlo::Module> module = ParseModuleBytes(*std::move(bytes), path);
      if (!module.ok()) return module.status();
      modules.push_back(*std::move(module));
    }
    std::vector<const hlo::Module*> all;
    for (const hlo::Module& module : modules) all.push_back(&module);
    const InPlaceHints hints = modules.size() > 1 ? CommonListedPairs(all) : InPlaceHints();
    for (size_t i = 0; i < paths.size(); ++i) {
      if (options_.stop()) return Cancelled();
      absl::StatusOr<std::unique_ptr<AnalyzedModule>> compile =
          AnalyzeModule(std::move(modules[i]), paths[i], hints);
      if (!compile.ok()) return compile.status();
      compiles_.push_back(*std::move(compile));
    }
    return absl::OkStatus();
  }

  // Notes an all-HBM compile with values in fast memory: the user may have given the files in
  // another order.
  void NoteFastMemory() {
    const absl::Span<const HloValue> values = all_hbm().flow.values();
    const auto fast = std::count_if(values.begin(), values.end(), [this](const HloValue& value) {
      return value.shape->layout.memory_space == hardware_.fast_memory_space();
    });
    if (fast == 0) return;
    program().add_notes(
        absl::StrCat("the all-HBM compile has ", fast,
                     " arrays in fast memory; was another compile given in its place?"));
  }

  // Notes what is wrong with the first compile that something is wrong with. It is mostly the same
  // with all of them.
  void NoteWrongCompile() {
    for (const auto& compile : compiles_) {
      const std::vector<std::string> notes = ModuleNotes(*compile, hardware_);
      for (const std::string& note : notes) {
        program().add_notes(absl::StrCat(BaseName(compile->path), ": ", note));
      }
      if (!notes.empty()) return;
    }
  }

  // Adds what one compile says to the latency table's data. The all-HBM compile comes first and
  // only gives its estimates.
  absl::Status AddPlacement(const AnalyzedModule& compile) {
    Match match = MatchModule(program(), compile);
    placements_.push_back(ReadPlacement(program(), compile, match));
    placements_.back().of_placed_module = placements_.size() > first_placed_;
    if (placements_.size() == 1) return absl::OkStatus();
    match.report.set_unmatched_in_all_hbm_cycles(
        UnmatchedCycles(program(), placements_.front(), match));
    if (match.report.matched_by_name() + match.report.matched_by_metadata() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(compile.path, ": expected another compile of ", options_.all_hbm_path,
                       ", found a module that has none of its instructions"));
    }
    if (placements_.size() == 2 && !options_.default_path.empty()) {
      *program().mutable_baseline() = MakeBaseline(program(), compile, match);
    }
    *program().add_matches() = std::move(match.report);
    return absl::OkStatus();
  }

  // Prices the default as a mapping with the finished table, then seals the program.
  absl::StatusOr<v1::Program> Finish() {
    if (program().has_baseline()) {
      v1::Program unpriced = program();
      SealProgram(unpriced);
      absl::StatusOr<Program> checked = Program::FromProto(std::move(unpriced));
      if (!checked.ok()) return StatusAt(options_.all_hbm_path, checked.status());
      absl::StatusOr<Mapping> mapping = BaselineMapping(*checked);
      if (!mapping.ok()) return mapping.status();
      PriceBaseline(Simulate(*checked, *mapping));
    }
    SealProgram(program());
    return std::move(program());
  }

  void PriceBaseline(const Price& price) {
    v1::Baseline& baseline = *program().mutable_baseline();
    baseline.set_mapping_cycles(price.total_cycles);
    const double difference = price.total_cycles - baseline.total_cycles();
    if (std::abs(difference) <= kTolerableDifference * baseline.total_cycles()) return;
    const v1::MatchReport& match = program().matches(0);
    baseline.add_notes(absl::StrFormat(
        "as a mapping the default costs %+.2f%%: %+.0f cycles of instructions, %+.0f of stalls; %u "
        "instructions (%.0f cycles) are only in the all-HBM compile, %u (%.0f cycles) only in the "
        "default's",
        100 * difference / baseline.total_cycles(),
        price.estimated_cycles + price.modelled_cycles - baseline.estimated_cycles() -
            baseline.modelled_cycles(),
        price.stall_cycles - baseline.stall_cycles(), match.unmatched_in_all_hbm(),
        match.unmatched_in_all_hbm_cycles(), match.unmatched_in_other(),
        match.unmatched_in_other_cycles()));
  }

  const ImportOptions& options_;
  const v1::Hardware& hardware_;
  // everything in HBM, then the default, then the samples, then those of placed modules
  std::vector<std::unique_ptr<AnalyzedModule>> compiles_;
  // index of the first compile of a placed module; all after it are such, too
  size_t first_placed_ = 0;
  v1::Program program_;
  std::vector<Placement> placements_;
};

}  // namespace

absl::StatusOr<v1::Program> ImportProgram(const ImportOptions& options,
                                          const v1::Hardware& hardware) {
  return Importer(options, hardware).Run();
}

v1::ImportReport MakeImportReport(const Program& program) {
  const v1::Program& proto = program.proto();
  v1::ImportReport report;
  report.set_program(proto.name());
  report.set_hardware(proto.hardware().name());
  report.set_instructions(program.instruction_count());
  report.set_accesses(program.access_count());
  report.set_buffers(program.buffer_count());
  report.set_loops(program.loops().size());
  report.set_bytes_accessed(MeasureTraffic(program, AllHbmMapping(program)).bytes_accessed);
  report.set_all_hbm_cycles(SimulateAllHbm(program).total_cycles);
  report.set_all_fast_cycles(AllFastCycles(program));
  if (const Baseline* baseline = program.baseline(); baseline != nullptr) {
    report.set_default_cycles(baseline->compiled_cycles);
    report.set_default_mapped_cycles(baseline->mapped_cycles);
    report.set_default_stall_cycles(baseline->stall_cycles);
    report.set_default_packed(baseline->packed);
    const Traffic traffic = MeasureTraffic(program, baseline->mapping);
    report.set_default_hbm_share(
        traffic.bytes_accessed > 0 ? traffic.hbm_bytes / traffic.bytes_accessed : 0);
  }
  report.set_placements(proto.calibration().placements_size());
  report.set_median_total_error(proto.calibration().median_total_error());
  report.set_worst_total_error(proto.calibration().worst_total_error());
  report.set_instruction_error(proto.calibration().instruction_error());
  uint32_t unmatched = 0;
  for (const v1::MatchReport& match : proto.matches()) {
    unmatched += match.unmatched_in_all_hbm() + match.unmatched_in_other();
  }
  report.set_unmatched_instructions(unmatched);
  *report.mutable_unknown_opcodes() = proto.unknown_opcodes();
  *report.mutable_notes() = proto.notes();
  if (program.baseline() != nullptr) {
    for (const std::string& note : program.baseline()->notes) report.add_notes(note);
  }
  return report;
}

}  // namespace mallocmuzero
