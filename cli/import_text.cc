#include "cli/import_text.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/table.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/report.pb.h"

namespace mallocmuzero::cli {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string SizeAndPrices(const v1::ImportReport& report) {
  Facts facts = {
      {"schedule", absl::StrCat(FormatCounted(report.instructions(), "instruction"), ", ",
                                FormatCounted(report.accesses(), "access", "accesses"), ", ",
                                FormatCounted(report.buffers(), "buffer"), ", ",
                                FormatCounted(report.loops(), "loop"))},
      {"accessed", absl::StrCat(FormatMebibytes(report.bytes_accessed()), " MiB")},
      {"all in HBM", FormatCycles(report.all_hbm_cycles())}};
  if (report.default_cycles() > 0) {
    facts.push_back(
        {"default", absl::StrCat(FormatCycles(report.default_cycles()), ", ",
                                 FormatChange(report.default_cycles(), report.all_hbm_cycles()),
                                 " everything in HBM")});
    facts.push_back({"  of it stalls", FormatCycles(report.default_stall_cycles())});
    facts.push_back({"  left in HBM", absl::StrCat(FormatPercent(report.default_hbm_share()),
                                                   " of the accessed bytes")});
    facts.push_back({"  addresses", report.default_packed()
                                        ? "packed"
                                        : "could not be packed: the default is a price only"});
  }
  facts.push_back(
      {"all fast", absl::StrCat(FormatCycles(report.all_fast_cycles()), ", ",
                                FormatChange(report.all_fast_cycles(), report.all_hbm_cycles()),
                                " everything in HBM")});
  return FactList(facts);
}

// The default is priced twice: as the compiled module stands, and as a mapping of this program.
std::string DefaultDifference(const Baseline* baseline) {
  if (baseline == nullptr || baseline->compiled_cycles <= 0) return "";
  std::string text = FactList(
      {{"default as compiled", FormatCycles(baseline->compiled_cycles)},
       {"default as a mapping",
        absl::StrCat(FormatCycles(baseline->mapped_cycles), ", ",
                     FormatChange(baseline->mapped_cycles, baseline->compiled_cycles), " it")}});
  for (const std::string& note : baseline->notes) absl::StrAppend(&text, "  ", note, "\n");
  return absl::StrCat("\nThe compiler's default, priced twice\n", text);
}

std::string CalibrationText(const v1::Calibration& calibration) {
  if (calibration.placements().empty()) {
    return "\nCalibration: none, no --sample was given; the table knows no other placement\n";
  }
  Table table({{"placement left out"},
               {"compiled Mcycles", Table::Align::kRight},
               {"predicted Mcycles", Table::Align::kRight},
               {"total error", Table::Align::kRight},
               {"instruction error", Table::Align::kRight}});
  for (const auto& placement : calibration.placements()) {
    const double compiled = placement.compiled_cycles();
    const double scale = compiled > 0 ? 1 / compiled : 0;
    table.AddRow({placement.name(), FormatMegacycles(compiled),
                  FormatMegacycles(placement.predicted_cycles()),
                  FormatPercent((placement.predicted_cycles() - compiled) * scale, 2),
                  FormatPercent(placement.absolute_error_cycles() * scale, 2)});
  }
  return absl::StrCat(
      "\nCalibration: each placement predicted from the others\n", table.ToText(),
      "error of the total: median ", FormatPercent(calibration.median_total_error(), 2), ", worst ",
      FormatPercent(calibration.worst_total_error(), 2),
      "; cycle-weighted error per instruction: ", FormatPercent(calibration.instruction_error(), 2),
      "\n");
}

std::string MatchText(const v1::Program& program) {
  if (program.matches().empty()) return "";
  Table table({{"compile"},
               {"by name", Table::Align::kRight},
               {"by metadata", Table::Align::kRight},
               {"only in all-HBM", Table::Align::kRight},
               {"Mcycles", Table::Align::kRight},
               {"only here", Table::Align::kRight},
               {"Mcycles", Table::Align::kRight}});
  for (const auto& match : program.matches()) {
    table.AddRow({match.name(), FormatCount(match.matched_by_name()),
                  FormatCount(match.matched_by_metadata()),
                  FormatCount(match.unmatched_in_all_hbm()),
                  FormatMegacycles(match.unmatched_in_all_hbm_cycles()),
                  FormatCount(match.unmatched_in_other()),
                  FormatMegacycles(match.unmatched_in_other_cycles())});
  }
  return absl::StrCat("\nInstructions found again in the other compiles\n", table.ToText());
}

// The notes of the baseline stand with its prices.
std::string NotesText(const v1::ImportReport& report, const v1::Program& program) {
  std::string text;
  if (!program.unknown_opcodes().empty()) {
    absl::StrAppend(&text, "\nUnknown opcodes, priced by bytes: ",
                    absl::StrJoin(program.unknown_opcodes(), ", "), "\n");
  }
  std::vector<std::string> notes(program.notes().begin(), program.notes().end());
  if (report.has_default_violation()) {
    notes.push_back(absl::StrCat("the compiler's own placement breaks a rule of the game: ",
                                 report.default_violation()));
  }
  if (!notes.empty()) absl::StrAppend(&text, "\nNotes\n");
  for (const std::string& note : notes) absl::StrAppend(&text, "  ", note, "\n");
  return text;
}

}  // namespace

std::string ImportText(const v1::ImportReport& report, const Program& program) {
  const v1::Program& proto = program.proto();
  return absl::StrCat(report.program(), " for ", report.hardware(), "\n\n", SizeAndPrices(report),
                      DefaultDifference(program.baseline()), CalibrationText(proto.calibration()),
                      MatchText(proto), NotesText(report, proto));
}

}  // namespace mallocmuzero::cli
