// The flags of the subcommands that call the TPU compiler.

#ifndef MALLOCMUZERO_CLI_COMPILER_FLAGS_H_
#define MALLOCMUZERO_CLI_COMPILER_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/chip.h"
#include "mallocmuzero/xla/compile_options.pb.h"

namespace mallocmuzero::cli {

struct CompilerFlags {
  std::string chip;
  std::string topology;              // empty: the smallest topology of the chip
  std::string library;               // empty: where FindCompilerLibrary looks
  std::vector<std::string> options;  // NAME=VALUE each
  std::string compile_options;       // path; empty: the options of one device
};

// A file of code in a format that the compiler reads.
struct CompilerInput {
  std::string code;
  std::string format;  // see v1::CompileProgram.format
};

// Adds --chip, --topology, --libtpu, --option and --compile-options. `option_help` is the help text
// of --option.
void AddCompilerFlags(CLI::App& command, absl::string_view option_help, CompilerFlags& flags);

// Reads a module and finds its format by its first bytes. Errors name the file.
absl::StatusOr<CompilerInput> ReadCompilerInput(const std::string& path);

// The options of --compile-options, changed by each --option in turn. Errors name the file or the
// option.
absl::StatusOr<xla::CompileOptionsProto> ReadCompileOptions(const CompilerFlags& flags);

// The name of the topology to compile for. InvalidArgument if --topology is one of another chip.
absl::StatusOr<std::string> ChosenTopology(const CompilerFlags& flags, const CompilerChip& chip);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_COMPILER_FLAGS_H_
