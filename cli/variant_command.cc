#include <cstdio>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/number_flag.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "simulator/core/fast_memory_share.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {
namespace {

struct VariantFlags {
  std::string program;
  double fast_memory = 1;
  std::string output;
};

absl::StatusOr<ExitCode> RunVariant(const VariantFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, {flags.program}));
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Program> variant = WithFastMemoryShare(*program, flags.fast_memory);
  if (!variant.ok()) {
    return absl::Status(variant.status().code(),
                        absl::StrCat("--fast-memory: ", variant.status().message()));
  }
  const absl::Status written = WriteMessage(flags.output, variant->proto());
  if (!written.ok()) return OutputError(written);
  std::fputs(absl::StrCat(variant->proto().name(), ": ",
                          FormatMebibytes(variant->hardware().fast_memory_bytes()),
                          " MiB of fast memory instead of ",
                          FormatMebibytes(program->hardware().fast_memory_bytes()), "\nwrote ",
                          flags.output, "\n")
                 .c_str(),
             stdout);
  return ExitCode::kSuccess;
}

}  // namespace

void AddVariantCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "variant");
  const auto flags = std::make_shared<VariantFlags>();
  AddProgramFlag(*command, flags->program)->required();
  command
      ->add_option("--fast-memory", flags->fast_memory,
                   "The size of fast memory as a share of the chip's own, such as 0.25.")
      ->type_name("SHARE")
      ->check(AboveZero())
      ->required();
  command->add_option("--output", flags->output, "The program file to write.")
      ->type_name("FILE")
      ->required();
  command->footer("The compiler has not been asked about it: there is no default to compare with.");
  command->callback([flags, &body] { body.run = [flags] { return RunVariant(*flags); }; });
}

}  // namespace mallocmuzero::cli
