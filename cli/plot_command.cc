#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/program_inputs.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "view/mapping_svg.h"

namespace mallocmuzero::cli {
namespace {

struct PlotFlags {
  std::string program;
  std::vector<std::string> mappings;
  std::string output;
  bool by_instruction = false;
  bool stacked = false;
};

// "local_search (m.mapping)" for a file.
std::string TitleOf(const std::string& name, const Mapping& mapping) {
  if (name == kDefaultMappingName) return "default (the compiler's own)";
  if (name == kAllHbmMappingName) return "all_hbm (everything in HBM)";
  const std::string file = std::filesystem::path(name).filename().string();
  return mapping.solver.empty() ? file : absl::StrCat(mapping.solver, " (", file, ")");
}

// The mappings asked for, then the default if the program has one.
std::vector<std::string> PanelNames(const PlotFlags& flags, const Program& program) {
  std::vector<std::string> names = flags.mappings;
  const bool asked = std::find(names.begin(), names.end(), kDefaultMappingName) != names.end();
  if (!asked && program.baseline() != nullptr) names.push_back(kDefaultMappingName);
  return names;
}

absl::StatusOr<ExitCode> RunPlot(const PlotFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckIsSvgName(flags.output));
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, {flags.program}));
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, flags.mappings));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const Baseline* baseline = program->baseline();
  std::vector<Mapping> mappings;
  std::vector<view::Panel> panels;
  for (const std::string& name : PanelNames(flags, *program)) {
    absl::StatusOr<Mapping> mapping = LoadMappingByName(name, *program);
    if (!mapping.ok()) return mapping.status();
    panels.push_back({.title = TitleOf(name, *mapping),
                      .has_addresses = HasAddresses(name, *mapping, *program)});
    mappings.push_back(*std::move(mapping));
  }
  if (panels.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.program, ": the program has no default mapping; --mapping expected"));
  }
  for (size_t p = 0; p < panels.size(); ++p) panels[p].mapping = &mappings[p];
  view::PlotOptions options;
  options.axis = flags.by_instruction ? view::Axis::kInstructions : view::Axis::kCycles;
  options.stacked = flags.stacked;
  if (baseline != nullptr) options.default_cycles = baseline->compiled_cycles;
  const absl::Status written =
      WriteFileAtomically(flags.output, view::MappingSvg(*program, panels, options));
  if (!written.ok()) return OutputError(written);
  return ExitCode::kSuccess;
}

}  // namespace

void AddPlotCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "plot");
  const auto flags = std::make_shared<PlotFlags>();
  AddProgramFlag(*command, flags->program)->required();
  command->add_option("--mapping", flags->mappings, absl::StrCat(kMappingHelp, " May be repeated."))
      ->type_name("NAME|FILE");
  command->add_option("--output", flags->output, "The SVG file to write.")
      ->type_name("FILE")
      ->required();
  command->add_flag("--by-instruction", flags->by_instruction,
                    "Gives every instruction the same width. By default its width is its time.");
  command->add_flag("--stacked", flags->stacked,
                    "Puts the panels one below the other. By default they are side by side.");
  command->callback([flags, &body] { body.run = [flags] { return RunPlot(*flags); }; });
}

}  // namespace mallocmuzero::cli
