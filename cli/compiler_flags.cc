#include "cli/compiler_flags.h"

#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "base/status_macros.h"
#include "compiler/chip.h"
#include "compiler/module_format.h"
#include "compiler/options.h"

namespace mallocmuzero::cli {

void AddCompilerFlags(CLI::App& command, absl::string_view option_help, CompilerFlags& flags) {
  command.add_option("--chip", flags.chip, "The chip to compile for, such as tpu_v6e.")
      ->type_name("NAME")
      ->required();
  command
      .add_option("--topology", flags.topology,
                  "The number of chips and their connections, as the compiler names them, such as "
                  "v6e:2x4. The default is the smallest topology of the chip.")
      ->type_name("NAME");
  command
      .add_option("--libtpu", flags.library,
                  "The path of the compiler, libtpu.so. The default is TPU_LIBRARY_PATH, or the "
                  "Python package libtpu.")
      ->type_name("PATH");
  command.add_option("--option", flags.options, std::string(option_help))->type_name("NAME=VALUE");
  command
      .add_option("--compile-options", flags.compile_options,
                  "The serialised CompileOptionsProto to start from, such as jax makes for a "
                  "program of several devices. The default is that of one device.")
      ->type_name("FILE");
}

absl::StatusOr<CompilerInput> ReadCompilerInput(const std::string& path) {
  absl::StatusOr<std::string> code = ReadFile(path);
  if (!code.ok()) return code.status();
  absl::StatusOr<std::string> format = ModuleFormat(*code, path);
  if (!format.ok()) return format.status();
  return CompilerInput{.code = *std::move(code), .format = *std::move(format)};
}

absl::StatusOr<xla::CompileOptionsProto> ReadCompileOptions(const CompilerFlags& flags) {
  xla::CompileOptionsProto options = DefaultCompileOptions();
  if (!flags.compile_options.empty()) {
    const absl::StatusOr<std::string> bytes = ReadFile(flags.compile_options);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<xla::CompileOptionsProto> parsed =
        ParseCompileOptions(*bytes, flags.compile_options);
    if (!parsed.ok()) return parsed.status();
    options = *std::move(parsed);
  }
  for (const std::string& option : flags.options) {
    MMZ_RETURN_IF_ERROR(SetCompilerOption(option, options));
  }
  return options;
}

absl::StatusOr<std::string> ChosenTopology(const CompilerFlags& flags, const CompilerChip& chip) {
  if (flags.topology.empty()) return std::string(chip.topology);
  MMZ_RETURN_IF_ERROR(CheckTopologyIsOf(chip, flags.topology));
  return flags.topology;
}

}  // namespace mallocmuzero::cli
