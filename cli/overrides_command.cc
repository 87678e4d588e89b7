#include <cstdint>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/status_macros.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/overrides/export.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kItemsShown = 10;

// Names no mapping. Its items and those of all_hbm together are everything that options can ask of
// the compiler.
constexpr char kAllFastName[] = "all_fast";

struct OverridesFlags {
  std::string program;
  std::string mapping;
  std::string output;
  std::string scope = "values";
  bool json = false;
};

std::string ItemTable(const v1::OverridesReport& report) {
  if (report.items().empty()) return "";
  Table table({{"kind"},
               {"instruction"},
               {"buffer", Table::Align::kRight},
               {"MiB", Table::Align::kRight},
               {"accesses", Table::Align::kRight},
               {"gain, cycles", Table::Align::kRight}});
  for (const v1::OverridesReport::Item& item : report.items()) {
    if (item.id() == kItemsShown) break;
    table.AddRow(
        {item.kind(), item.instruction(), absl::StrCat(item.buffer()),
         FormatMebibytes(item.bytes()), FormatCount(item.accesses_size()),
         absl::StrCat(item.gain_cycles() > 0 ? "+" : "", FormatCount(item.gain_cycles()))});
  }
  return absl::StrCat("\nThe items that gain most, each alone\n", table.ToText());
}

std::string OverridesText(const v1::OverridesReport& report) {
  if (report.items().empty() && report.left_out_accesses() == 0) {
    return absl::StrCat(report.program(), ": the mapping is the compiler's default\n");
  }
  return absl::StrCat(
      report.program(), ": ", FormatCounted(report.items_size(), "item"),
      "; not exported: ", FormatCounted(report.left_out_accesses(), "access", "accesses"), " (",
      FormatPercent(report.left_out_share()), " of the bytes that differ)\n", ItemTable(report));
}

// The mapping that --mapping names.
absl::StatusOr<Mapping> LoadWish(const std::string& name_or_path, const Program& program) {
  if (name_or_path != kAllFastName) return LoadMappingByName(name_or_path, program);
  Mapping wish = AllHbmMapping(program);
  for (const AccessIndex a : program.accesses().indices()) {
    wish.in_fast_memory[a] = program.buffers()[program.accesses()[a].buffer].pinned_to_hbm ? 0 : 1;
  }
  return wish;
}

absl::StatusOr<ExitCode> RunOverrides(const OverridesFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, {flags.program, flags.mapping}));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Mapping> mapping = LoadWish(flags.mapping, *program);
  if (!mapping.ok()) return mapping.status();
  const absl::StatusOr<v1::OverridesReport> report = ExportOverrides(
      *program, *mapping, flags.scope == "uses" ? OverrideScope::kUses : OverrideScope::kValues);
  if (!report.ok()) return report.status();
  const absl::Status written = WriteFileAtomically(flags.output, OptionLines(*report));
  if (!written.ok()) return OutputError(written);
  if (flags.json) return PrintJson(*report);
  return PrintText(absl::StrCat(OverridesText(*report), "\nwrote ", flags.output, "\n"));
}

}  // namespace

void AddOverridesCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "overrides");
  const auto flags = std::make_shared<OverridesFlags>();
  AddProgramFlag(*command, flags->program)->required();
  command
      ->add_option(
          "--mapping", flags->mapping,
          absl::StrCat(kMappingHelp, " The name ", kAllFastName,
                       " asks for everything in fast memory that is not there by default."))
      ->type_name("NAME|FILE")
      ->required();
  command
      ->add_option("--output", flags->output,
                   "The file to write: one compiler option on each line, as name=value. An empty "
                   "file keeps the default.")
      ->type_name("FILE")
      ->required();
  TakeOneOf(*command->add_option(
                "--scope", flags->scope,
                "With values the options ask for whole values. With uses they also ask for "
                "single uses of a value. The default is values."),
            {"values", "uses"});
  AddJsonFlag(*command, "OverridesReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunOverrides(*flags); }; });
}

}  // namespace mallocmuzero::cli
