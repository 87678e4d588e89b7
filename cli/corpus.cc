#include "cli/corpus.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file_io.h"
#include "cli/table.h"
#include "env/program_files.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/program.h"
#include "simulator/import/import.h"

namespace mallocmuzero::cli {
namespace {

constexpr double kContendedHbmShare = 0.10;
constexpr double kContendedStallShare = 0.01;
constexpr double kContendedHeadroom = 0.03;
constexpr uint32_t kManyAccesses = 2000;

constexpr char kBeginMarker[] = "<!-- corpus:begin -->\n";
constexpr char kEndMarker[] = "<!-- corpus:end -->";

struct SplitEntry {
  std::string family;
  std::string split;
};

// Rows by program name. The file is CSV without quotes. Its columns may have any order.
absl::StatusOr<std::map<std::string, SplitEntry>> ReadSplit(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  std::map<std::string, SplitEntry> entries;
  std::vector<std::string> header;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++line_number;
    line = absl::StripSuffix(line, "\r");
    if (line.empty()) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    if (header.empty()) {
      header = cells;
      for (const char* column : {"name", "family", "split"}) {
        if (std::find(header.begin(), header.end(), column) != header.end()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(path, ":", line_number, ": no column '", column,
                         "', expected a header with name, family and split"));
      }
      continue;
    }
    if (cells.size() != header.size()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": ", cells.size(),
                                                     " columns, expected ", header.size()));
    }
    std::map<std::string, std::string> row;
    for (size_t i = 0; i < cells.size(); ++i) row[header[i]] = cells[i];
    entries[row["name"]] = {.family = row["family"], .split = row["split"]};
  }
  if (header.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": empty, expected a header with name, family and split"));
  }
  return entries;
}

double StallShare(const v1::ImportReport& report) {
  return report.default_cycles() > 0 ? report.default_stall_cycles() / report.default_cycles() : 0;
}

// Share of the default's cycles that vanish if everything is in fast memory.
double Headroom(const v1::ImportReport& report) {
  return report.default_cycles() > 0 ? 1 - report.all_fast_cycles() / report.default_cycles() : 0;
}

std::string TableOfChip(const std::vector<const CorpusProgram*>& programs) {
  using enum Table::Align;
  Table table({{"program"},
               {"family"},
               {"split"},
               {"instructions", kRight},
               {"accesses", kRight},
               {"accessed MiB", kRight},
               {"all-HBM Mcycles", kRight},
               {"default Mcycles", kRight},
               {"stalls", kRight},
               {"left in HBM", kRight},
               {"headroom", kRight},
               {"contended"},
               {"total error, median", kRight},
               {"worst", kRight},
               {"instruction error", kRight}});
  for (const CorpusProgram* program : programs) {
    const v1::ImportReport& r = program->report;
    table.AddRow({r.program(), program->family, program->split, FormatCount(r.instructions()),
                  FormatCount(r.accesses()), FormatMebibytes(r.bytes_accessed()),
                  FormatMegacycles(r.all_hbm_cycles()), FormatMegacycles(r.default_cycles()),
                  FormatPercent(StallShare(r)), FormatPercent(r.default_hbm_share()),
                  FormatPercent(Headroom(r)), IsContended(r) ? "yes" : "no",
                  FormatPercent(r.median_total_error(), 2), FormatPercent(r.worst_total_error(), 2),
                  FormatPercent(r.instruction_error(), 2)});
  }
  return table.ToMarkdown();
}

std::string TotalsOfChip(const std::vector<const CorpusProgram*>& programs) {
  const auto count = [&](auto predicate) {
    return std::count_if(programs.begin(), programs.end(),
                         [&](const CorpusProgram* p) { return predicate(*p); });
  };
  std::map<std::string, int> families;
  for (const CorpusProgram* program : programs) ++families[program->family];
  const auto in_split = [&](const std::string& split) {
    return count([&](const CorpusProgram& p) { return p.split == split; });
  };
  return absl::StrCat(
      programs.size(), " programs of ", families.size(), " families (", in_split("train"),
      " train, ", in_split("validation"), " validation, ", in_split("test"), " test); ",
      count([](const CorpusProgram& p) { return IsContended(p.report); }), " contended; ",
      count([](const CorpusProgram& p) { return p.report.accesses() >= kManyAccesses; }), " with ",
      FormatCount(kManyAccesses), " or more accesses.\n");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindSomePrograms(const std::string& folder) {
  absl::StatusOr<std::vector<std::string>> paths = FindPrograms(folder);
  if (paths.ok() && paths->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": no .program file in it or its folders"));
  }
  return paths;
}

absl::StatusOr<std::vector<std::string>> FindSplit(const std::string& folder,
                                                   const std::string& split) {
  const absl::StatusOr<std::map<std::string, SplitEntry>> entries =
      ReadSplit(folder + "/split.csv");
  if (!entries.ok()) return entries.status();
  absl::StatusOr<std::vector<std::string>> paths = FindPrograms(folder);
  if (!paths.ok()) return paths;
  std::erase_if(*paths, [&](const std::string& path) {
    const std::string file = std::filesystem::path(path).filename().string();
    const auto entry = entries->find(file.substr(0, file.find(".program")));
    return entry == entries->end() || entry->second.split != split;
  });
  if (paths->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, "/split.csv: no program here has the split '", split, "'"));
  }
  return paths;
}

absl::StatusOr<std::vector<CorpusProgram>> ReadCorpus(const std::string& folder) {
  const std::string split_path = folder + "/split.csv";
  const absl::StatusOr<std::map<std::string, SplitEntry>> split = ReadSplit(split_path);
  if (!split.ok()) return split.status();
  const absl::StatusOr<std::vector<std::string>> paths = FindSomePrograms(folder);
  if (!paths.ok()) return paths.status();
  std::vector<CorpusProgram> programs;
  for (const std::string& path : *paths) {
    const absl::StatusOr<Program> program = LoadProgram(path);
    if (!program.ok()) return program.status();
    const auto entry = split->find(program->proto().name());
    if (entry == split->end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", split_path, " has no row for ", program->proto().name()));
    }
    programs.push_back({entry->second.family, entry->second.split, MakeImportReport(*program),
                        program->proto().calibration()});
  }
  return programs;
}

bool IsContended(const v1::ImportReport& report) {
  const bool left_out = report.default_hbm_share() >= kContendedHbmShare ||
                        StallShare(report) >= kContendedStallShare;
  return left_out && Headroom(report) >= kContendedHeadroom;
}

std::string CorpusMarkdown(const std::vector<CorpusProgram>& programs) {
  std::map<std::string, std::vector<const CorpusProgram*>> by_chip;
  for (const CorpusProgram& program : programs) {
    by_chip[program.report.hardware()].push_back(&program);
  }
  std::string text;
  for (const auto& [chip, members] : by_chip) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "### ", chip, "\n\n", TotalsOfChip(members),
                    "\n", TableOfChip(members));
  }
  return text;
}

v1::CorpusReport MakeCorpusReport(const std::vector<CorpusProgram>& programs) {
  v1::CorpusReport corpus;
  for (const CorpusProgram& program : programs) {
    v1::CorpusReport::Entry& entry = *corpus.add_programs();
    entry.set_family(program.family);
    entry.set_split(program.split);
    entry.set_contended(IsContended(program.report));
    *entry.mutable_report() = program.report;
    *entry.mutable_calibration() = program.calibration;
  }
  return corpus;
}

absl::StatusOr<std::string> ReplaceBetweenMarkers(absl::string_view document,
                                                  absl::string_view markdown) {
  const size_t begin = document.find(kBeginMarker);
  const size_t end = begin == absl::string_view::npos ? begin : document.find(kEndMarker, begin);
  if (end == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("no lines \"", absl::StripSuffix(kBeginMarker, "\n"), "\" and \"", kEndMarker,
                     "\" to put the table between"));
  }
  const size_t body = begin + absl::string_view(kBeginMarker).size();
  return absl::StrCat(document.substr(0, body), markdown, document.substr(end));
}

}  // namespace mallocmuzero::cli
