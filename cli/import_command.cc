#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/import_text.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/hardware.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/import/import.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::cli {
namespace {

struct ImportFlags {
  ImportOptions inputs;
  std::string hardware;
  int64_t fast_memory_bytes = 0;
  std::string output;
  bool json = false;
};

// "gpt3.5_b16" for "runs/gpt3.5_b16.program" and "gpt3.5_b16.program.zst", as `--split` names it.
// Other files are named up to their first dot.
std::string ProgramNameOf(const std::string& output) {
  const std::string name = std::filesystem::path(output).filename().string();
  const size_t suffix = name.find(".program", 1);
  return name.substr(0, suffix == std::string::npos ? name.find('.', 1) : suffix);
}

void AddDefaultViolation(const Program& program, v1::ImportReport& report) {
  const Baseline* baseline = program.baseline();
  // without addresses, a note says so
  if (baseline == nullptr || !baseline->packed) return;
  const std::vector<Violation> violations = Validate(program, baseline->mapping);
  if (!violations.empty()) report.set_default_violation(violations[0].message);
}

absl::StatusOr<ExitCode> RunImport(const ImportFlags& flags) {
  std::vector<std::string> read = flags.inputs.sample_paths;
  read.insert(read.end(), flags.inputs.placed_paths.begin(), flags.inputs.placed_paths.end());
  read.insert(read.end(), {flags.inputs.all_hbm_path, flags.inputs.default_path, flags.hardware});
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, read));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  absl::StatusOr<v1::Hardware> hardware = LoadHardware(flags.hardware);
  if (!hardware.ok()) return hardware.status();
  MMZ_RETURN_IF_ERROR(SetFastMemoryBytes(flags.fast_memory_bytes, *hardware));
  ImportOptions inputs = flags.inputs;
  inputs.program_name = ProgramNameOf(flags.output);
  absl::StatusOr<v1::Program> imported = ImportProgram(inputs, *hardware);
  if (!imported.ok()) return imported.status();
  const absl::StatusOr<Program> program = Program::FromProto(*std::move(imported));
  if (!program.ok()) {
    return absl::InternalError(absl::StrCat(
        inputs.all_hbm_path,
        ": the import is not a program that can be read back: ", program.status().message()));
  }
  const absl::Status written = WriteMessage(flags.output, program->proto());
  if (!written.ok()) return OutputError(written);

  v1::ImportReport report = MakeImportReport(*program);
  AddDefaultViolation(*program, report);
  if (flags.json) return PrintJson(report);
  return PrintText(absl::StrCat(ImportText(report, *program), "\nwrote ", flags.output, "\n"));
}

}  // namespace

void AddImportCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "import");
  const auto flags = std::make_shared<ImportFlags>();
  command
      ->add_option("--all-hbm", flags->inputs.all_hbm_path,
                   "The HLO, text or protobuf, of the compile with everything in HBM.")
      ->type_name("FILE")
      ->required();
  command
      ->add_option(
          "--default", flags->inputs.default_path,
          "The HLO of the compile with the compiler's own placement. It becomes the baseline.")
      ->type_name("FILE");
  command
      ->add_option("--sample", flags->inputs.sample_paths,
                   "The HLO of a compile under another placement. May be repeated. More samples "
                   "improve the latency table.")
      ->type_name("FILE");
  command
      ->add_option(
          "--placed", flags->inputs.placed_paths,
          "The HLO of a compile of a module that `place` wrote. May be repeated. Its estimates "
          "take precedence over those of other compiles with the same placement.")
      ->type_name("FILE");
  command
      ->add_option("--hardware", flags->hardware,
                   "The name of the chip, such as tpu_v6e, or a hardware file.")
      ->type_name("NAME|FILE")
      ->required();
  AddFastMemoryBytesFlag(*command, flags->fast_memory_bytes);
  command->add_option("--output", flags->output, "The program file to write.")
      ->type_name("FILE")
      ->required();
  AddJsonFlag(*command, "ImportReport", flags->json);
  command->footer("Every input may be zstd-compressed.");
  command->callback([flags, &body] { body.run = [flags] { return RunImport(*flags); }; });
}

}  // namespace mallocmuzero::cli
