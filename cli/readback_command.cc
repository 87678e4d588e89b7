#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/price_report.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/import/read_back.h"
#include "simulator/overrides/late_copies.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kMismatchesShown = 10;
constexpr int kLateCopiesShown = 5;
constexpr char kNamesFromStandardInput[] = "-";

struct ReadbackFlags {
  std::string program;
  std::string all_hbm;
  std::string hlo;
  std::string mapping;
  std::string output;
  bool json = false;
};

std::string MismatchTable(const v1::ReadBackReport& report) {
  if (report.mismatches().empty()) return "";
  Table table({{"instruction"},
               {"buffer", Table::Align::kRight},
               {"MiB", Table::Align::kRight},
               {"times", Table::Align::kRight},
               {"wanted in"}});
  for (int k = 0; k < std::min(report.mismatches_size(), kMismatchesShown); ++k) {
    const v1::ReadBackReport::Mismatch& mismatch = report.mismatches(k);
    table.AddRow({mismatch.instruction(), absl::StrCat(mismatch.buffer()),
                  FormatMebibytes(mismatch.bytes()), FormatCount(mismatch.executions()),
                  mismatch.wanted_fast() ? "fast memory" : "HBM"});
  }
  return absl::StrCat(
      "\nNot placed as wanted: ", FormatCounted(report.mismatch_count(), "access", "accesses"),
      ", those that move most\n", table.ToText());
}

std::string LateCopyTable(const v1::ReadBackReport& report) {
  if (report.late_copies().empty()) return "";
  Table table({{"before"}, {"MiB", Table::Align::kRight}, {"cycles", Table::Align::kRight}});
  double cycles = 0;
  for (int k = 0; k < report.late_copies_size(); ++k) {
    const v1::ReadBackReport::LateCopy& copy = report.late_copies(k);
    cycles += copy.wait_cycles();
    if (k >= kLateCopiesShown) continue;
    table.AddRow({copy.instruction(), FormatMebibytes(copy.bytes()),
                  FormatCount(std::llround(copy.wait_cycles()))});
  }
  return absl::StrCat(
      "\nCopies that the program waits for: ", FormatCount(report.late_copies_size()), ", ",
      FormatCount(std::llround(cycles)), " cycles, the longest\n", table.ToText());
}

std::string ReadbackText(const v1::ReadBackReport& report) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (report.has_compiled_cycles()) {
    facts.push_back(
        {"as compiled", ComparedCycles(report.compiled_cycles(), report.has_default_cycles(),
                                       report.default_cycles())});
  } else {
    facts.push_back({"as compiled", "unknown: the text has no estimates"});
  }
  facts.push_back(
      {"as a mapping", ComparedCycles(report.mapped_cycles(), report.has_default_mapped_cycles(),
                                      report.default_mapped_cycles())});
  if (report.has_wanted_cycles()) {
    facts.push_back(
        {"wanted", ComparedCycles(report.wanted_cycles(), report.has_default_mapped_cycles(),
                                  report.default_mapped_cycles())});
    facts.push_back({"followed", absl::StrCat(FormatPercent(report.followed_share()),
                                              " of the accessed bytes")});
  }
  facts.push_back(
      {"matched", absl::StrCat(FormatPercent(report.matched_share()), " of the accessed bytes")});
  facts.push_back({"addresses", report.packed() ? "packed" : "not packed"});
  std::string text = absl::StrCat(report.program(), " as recompiled\n\n", FactList(facts),
                                  MismatchTable(report), LateCopyTable(report));
  if (!report.notes().empty()) absl::StrAppend(&text, "\nNotes\n");
  for (const std::string& note : report.notes()) absl::StrAppend(&text, "  ", note, "\n");
  return text;
}

v1::ReadBackReport Report(const Program& program, const ReadBack& read_back,
                          const Mapping* wanted) {
  v1::ReadBackReport report = MakeReadBackReport(program, read_back, wanted);
  AddLateCopies(program, read_back.mapping, report);
  return report;
}

// Reads file names from standard input and prints one line of JSON for each module. Loading the
// program takes longer than reading a module back, and a loop over compiles reads hundreds of
// modules.
absl::StatusOr<ExitCode> AnswerNames(const ModuleReader& reader, const Program& program,
                                     const Mapping* wanted) {
  std::string name;
  for (int line = 1; std::getline(std::cin, name); ++line) {
    if (name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--hlo -: standard input:", line, ": expected the name of a file, found an empty line"));
    }
    const absl::StatusOr<ReadBack> read_back = reader.Read(name);
    if (!read_back.ok()) return read_back.status();
    const absl::StatusOr<ExitCode> printed = PrintJson(Report(program, *read_back, wanted));
    if (!printed.ok()) return printed.status();
    // A write that failed in PrintJson leaves nothing to flush. RunCommandLine says why.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return ExitCode::kFailure;
  }
  if (std::cin.bad() || std::ferror(stdin) != 0) {
    return absl::InvalidArgumentError("--hlo -: standard input cannot be read");
  }
  return ExitCode::kSuccess;
}

absl::StatusOr<ExitCode> RunReadback(const ReadbackFlags& flags) {
  const bool by_names = flags.hlo == kNamesFromStandardInput;
  if (by_names && (!flags.json || !flags.output.empty())) {
    return absl::InvalidArgumentError("--hlo -: expected with --json and without --output");
  }
  MMZ_RETURN_IF_ERROR(
      CheckOutputIsNotRead(flags.output, {flags.program, flags.mapping, flags.all_hbm, flags.hlo}));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  absl::optional<Mapping> wanted;
  if (!flags.mapping.empty()) {
    absl::StatusOr<Mapping> mapping = LoadMappingByName(flags.mapping, *program);
    if (!mapping.ok()) return mapping.status();
    wanted = *std::move(mapping);
  }
  const Mapping* const compared = wanted ? &*wanted : nullptr;
  const absl::StatusOr<ModuleReader> reader = ModuleReader::Create(*program, flags.all_hbm);
  if (!reader.ok()) return reader.status();
  if (by_names) return AnswerNames(*reader, *program, compared);
  const absl::StatusOr<ReadBack> read_back = reader->Read(flags.hlo);
  if (!read_back.ok()) return read_back.status();
  if (!flags.output.empty()) {
    const absl::Status written =
        WriteMessage(flags.output, MappingToProto(read_back->mapping, *program));
    if (!written.ok()) return OutputError(written);
  }
  const v1::ReadBackReport report = Report(*program, *read_back, compared);
  return flags.json ? PrintJson(report) : PrintText(ReadbackText(report));
}

}  // namespace

void AddReadbackCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "readback");
  const auto flags = std::make_shared<ReadbackFlags>();
  AddProgramFlag(*command, flags->program)->required();
  command
      ->add_option("--all-hbm", flags->all_hbm,
                   "The HLO, text or protobuf, of the compile with everything in HBM that the "
                   "program was imported from. Only a program of an older import needs it.")
      ->type_name("FILE");
  command
      ->add_option(
          "--hlo", flags->hlo,
          "The HLO of the recompiled module. A dumped schedule without estimates is enough. With - "
          "the command reads file names from standard input, one on each line.")
      ->type_name("FILE|-")
      ->required();
  command
      ->add_option(
          "--mapping", flags->mapping,
          absl::StrCat("Compares the placement with the mapping that was wanted. ", kMappingHelp))
      ->type_name("NAME|FILE");
  command->add_option("--output", flags->output, "Writes the placement to this mapping file.")
      ->type_name("FILE");
  AddJsonFlag(*command, "ReadBackReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunReadback(*flags); }; });
}

}  // namespace mallocmuzero::cli
