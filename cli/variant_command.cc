#include <cstdint>
#include <memory>
#include <optional>
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
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "simulator/core/fast_memory_share.h"
#include "simulator/core/program.h"
#include "simulator/layers/repeat_layers.h"

namespace mallocmuzero::cli {
namespace {

// More layers than any model has.
constexpr uint64_t kMostLayers = 100000;

struct VariantFlags {
  std::string program;
  std::optional<double> fast_memory;  // as a share
  int32_t from_layers = 0;
  int32_t to_layers = 0;  // 0: as many as the program has
  std::string name;
  std::string output;
};

// The text about the changes, such as "gpt_56: 3,296 instructions instead of 454".
std::string VariantText(const Program& before, const Program& after) {
  std::string text;
  if (after.instruction_count() != before.instruction_count()) {
    absl::StrAppend(&text, after.proto().name(), ": ", FormatCount(after.instruction_count()),
                    " instructions and ", FormatCount(after.access_count()),
                    " accesses instead of ", FormatCount(before.instruction_count()), " and ",
                    FormatCount(before.access_count()), "\n");
  }
  if (after.hardware().fast_memory_bytes() != before.hardware().fast_memory_bytes()) {
    absl::StrAppend(
        &text, after.proto().name(), ": ", FormatBytes(after.hardware().fast_memory_bytes()),
        " of fast memory instead of ", FormatBytes(before.hardware().fast_memory_bytes()), "\n");
  }
  return text;
}

// The program with the layers and the fast memory that the flags ask for.
absl::StatusOr<Program> MakeVariant(const VariantFlags& flags, const Program& program) {
  std::optional<Program> deeper;
  if (flags.to_layers > 0) {
    const std::string name =
        !flags.name.empty() ? flags.name
                            : absl::StrCat(program.proto().name(), "_", flags.to_layers, "_layers");
    absl::StatusOr<Program> made =
        WithModelLayers(program, flags.from_layers, flags.to_layers, name);
    if (!made.ok()) {
      return absl::Status(made.status().code(),
                          absl::StrCat("--to-layers: ", made.status().message()));
    }
    if (!flags.fast_memory) return made;
    deeper = *std::move(made);
  }
  absl::StatusOr<Program> made =
      WithFastMemoryShare(deeper ? *deeper : program, flags.fast_memory.value_or(1));
  if (made.ok()) return made;
  return absl::Status(made.status().code(),
                      absl::StrCat("--fast-memory: ", made.status().message()));
}

absl::StatusOr<ExitCode> RunVariant(const VariantFlags& flags) {
  if (!flags.fast_memory && flags.to_layers == 0) {
    return absl::InvalidArgumentError("expected --fast-memory, --to-layers or both");
  }
  MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(flags.output, {flags.program}));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Program> variant = MakeVariant(flags, *program);
  if (!variant.ok()) return variant.status();
  const absl::Status written = WriteMessage(flags.output, variant->proto());
  if (!written.ok()) return OutputError(written);
  return PrintText(absl::StrCat(VariantText(*program, *variant), "wrote ", flags.output, "\n"));
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
      ->check(AboveZero());
  CLI::Option* from =
      command
          ->add_option("--from-layers", flags->from_layers,
                       "The number of layers of the model in the program, such as 14.")
          ->type_name("N")
          ->check(WholeNumber(1, kMostLayers));
  CLI::Option* to = command
                        ->add_option("--to-layers", flags->to_layers,
                                     "The number of layers to make of them, such as 112: layers "
                                     "from the middle are repeated, with weights of their own.")
                        ->type_name("N")
                        ->check(WholeNumber(1, kMostLayers))
                        ->needs(from);
  from->needs(to);
  command
      ->add_option("--name", flags->name,
                   "The name of the program with other layers. By default it is the old name and "
                   "the number of layers.")
      ->type_name("NAME")
      ->needs(to);
  command->add_option("--output", flags->output, "The program file to write.")
      ->type_name("FILE")
      ->required();
  command->footer("The compiler has not been asked about it: there is no default to compare with.");
  command->callback([flags, &body] { body.run = [flags] { return RunVariant(*flags); }; });
}

}  // namespace mallocmuzero::cli
