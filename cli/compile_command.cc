#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/status_at.h"
#include "base/status_macros.h"
#include "base/stop_signal.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/compiler_flags.h"
#include "cli/duration_flag.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "compiler/chip.h"
#include "compiler/compile.h"
#include "compiler/compile_child.h"
#include "compiler/compiler_message.h"
#include "compiler/find_library.h"
#include "compiler/options.h"
#include "mallocmuzero/v1/compile.pb.h"
#include "mallocmuzero/xla/compile_options.pb.h"
#include "simulator/hlo/read_module.h"

namespace mallocmuzero::cli {
namespace {

struct CompileFlags {
  std::string hlo;
  CompilerFlags compiler;
  bool no_assignment = false;
  std::string module;
  std::string text;
  std::string executable;
  std::string timeout = "10m";
  bool json = false;
};

absl::StatusOr<v1::CompileRequest> MakeRequest(const CompileFlags& flags) {
  const absl::StatusOr<CompilerChip> chip = FindCompilerChip(flags.compiler.chip);
  if (!chip.ok()) return chip.status();
  absl::StatusOr<xla::CompileOptionsProto> options = ReadCompileOptions(flags.compiler);
  if (!options.ok()) return options.status();
  if (flags.no_assignment) {
    MMZ_RETURN_IF_ERROR(
        SetCompilerOption(absl::StrCat(chip->assignment_option, "=false"), *options));
  }
  absl::StatusOr<CompilerInput> input = ReadCompilerInput(flags.hlo);
  if (!input.ok()) return input.status();
  absl::StatusOr<std::string> library = FindCompilerLibrary(flags.compiler.library);
  if (!library.ok()) return library.status();
  absl::StatusOr<std::string> topology = ChosenTopology(flags.compiler, *chip);
  if (!topology.ok()) return topology.status();
  v1::CompileRequest request;
  request.set_topology(*std::move(topology));
  request.set_library(*std::move(library));
  v1::CompileProgram& program = *request.add_programs();
  program.set_options(SerializeDeterministically(*options));
  program.set_format(std::move(input->format));
  program.set_code(std::move(input->code));
  return request;
}

absl::Status CheckOutputs(const CompileFlags& flags) {
  std::set<std::filesystem::path> outputs;
  for (const std::string& output : {flags.module, flags.text, flags.executable}) {
    if (output.empty()) continue;
    MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(output, {flags.hlo, flags.compiler.compile_options}));
    MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(output));
    if (outputs.insert(WholePath(output)).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(output, ": --module, --text and --executable are to be different files"));
  }
  return absl::OkStatus();
}

absl::Status WriteOutputs(const CompileFlags& flags, const v1::CompiledProgram& program) {
  std::string text;
  if (!flags.text.empty()) {
    absl::StatusOr<std::string> printed = hlo::HloTextOf(program.module(), flags.hlo);
    if (!printed.ok()) return printed.status();
    text = *std::move(printed);
  }
  const std::pair<const std::string&, const std::string&> files[] = {
      {flags.module, program.module()},
      {flags.text, text},
      {flags.executable, program.executable()}};
  for (const auto& [path, bytes] : files) {
    if (path.empty()) continue;
    const absl::Status written = WriteFileAtomically(path, bytes);
    if (!written.ok()) return OutputError(written);
  }
  return absl::OkStatus();
}

v1::CompileReport MakeReport(const CompileFlags& flags, const v1::CompileRequest& request,
                             const v1::CompileResponse& response) {
  const v1::CompilerInfo& compiler = response.compiler();
  const v1::CompiledProgram& program = response.programs(0);
  v1::CompileReport report;
  report.set_hlo(flags.hlo);
  report.set_chip(flags.compiler.chip);
  report.set_topology(request.topology());
  report.set_format(request.programs(0).format());
  report.set_library(request.library());
  report.set_library_version(FirstParagraph(compiler.version()));
  report.set_pjrt_version(
      absl::StrCat(compiler.pjrt_major_version(), ".", compiler.pjrt_minor_version()));
  report.set_start_seconds(compiler.start_seconds());
  report.set_seconds(program.seconds());
  report.set_module_bytes(static_cast<double>(program.module().size()));
  report.set_executable_bytes(static_cast<double>(program.executable().size()));
  report.set_fingerprint(program.fingerprint());
  if (program.has_memory()) *report.mutable_memory() = program.memory();
  *report.mutable_costs() = program.costs();
  return report;
}

std::string ReportText(const v1::CompileReport& report, const CompileFlags& flags) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"compiler", absl::StrCat(report.library_version(), " (PJRT ", report.pjrt_version(), ")")},
      {"time", absl::StrFormat("%.2f s, and %.2f s to start the compiler", report.seconds(),
                               report.start_seconds())},
      {"module", FormatBytes(report.module_bytes())},
      {"executable", FormatBytes(report.executable_bytes())},
      {"fingerprint", report.fingerprint()}};
  if (report.has_memory()) {
    const v1::CompiledMemory& memory = report.memory();
    facts.emplace_back("arguments", FormatBytes(memory.arguments()));
    facts.emplace_back("outputs", FormatBytes(memory.outputs()));
    facts.emplace_back("  of it in arguments", FormatBytes(memory.aliased()));
    facts.emplace_back("temporaries", FormatBytes(memory.temporaries()));
    facts.emplace_back("generated code", FormatBytes(memory.generated_code()));
    if (memory.has_peak()) facts.emplace_back("peak", FormatBytes(memory.peak()));
  }
  for (const char* cost : {"flops", "bytes accessed"}) {
    const auto found = report.costs().find(cost);
    if (found != report.costs().end()) {
      facts.emplace_back(cost, absl::StrFormat("%.4g", found->second));
    }
  }
  std::string text =
      absl::StrCat(report.hlo(), " compiled for ", report.topology(), "\n\n", FactList(facts));
  for (const std::string& output : {flags.module, flags.text, flags.executable}) {
    if (!output.empty()) absl::StrAppend(&text, "\nwrote ", output);
  }
  if (text.back() != '\n') text += '\n';
  return text;
}

absl::StatusOr<ExitCode> RunCompile(const CompileFlags& flags) {
  const absl::StatusOr<absl::Duration> timeout = ParseDuration("--timeout", flags.timeout);
  if (!timeout.ok()) return timeout.status();
  MMZ_RETURN_IF_ERROR(CheckOutputs(flags));
  const absl::StatusOr<v1::CompileRequest> request = MakeRequest(flags);
  if (!request.ok()) return request.status();
  // The guard also covers the output files: a signal during a write must not leave half a file.
  const StopSignal signal;
  const absl::StatusOr<v1::CompileResponse> response =
      Compile(*request, {.timeout = *timeout, .stop_fd = signal.fd()});
  absl::Status status = response.status();
  if (status.ok()) status = CompileStatus(response->programs(0));
  if (!status.ok()) return StatusAt(flags.hlo, status);
  MMZ_RETURN_IF_ERROR(WriteOutputs(flags, response->programs(0)));
  const v1::CompileReport report = MakeReport(flags, *request, *response);
  return flags.json ? PrintJson(report) : PrintText(ReportText(report, flags));
}

void AddOptions(CLI::App& command, CompileFlags& flags) {
  command
      .add_option(
          "--hlo", flags.hlo,
          "The module to compile: a serialised HloModuleProto, or StableHLO as bytecode or text.")
      ->type_name("FILE")
      ->required();
  AddCompilerFlags(
      command,
      "Sets a compiler option, such as xla_tpu_scoped_vmem_limit_kib=49152. May be repeated.",
      flags.compiler);
  command.add_flag("--no-assignment", flags.no_assignment,
                   "The compiler leaves every tensor in the memory space that the module names. "
                   "Placed modules need this.");
  command
      .add_option("--module", flags.module,
                  "Writes the compiled module (HloModuleProto) to this file.")
      ->type_name("FILE");
  command
      .add_option("--text", flags.text,
                  "Writes the compiled module as HLO text to this file: without source locations, "
                  "shardings and large literals.")
      ->type_name("FILE");
  command
      .add_option("--executable", flags.executable,
                  "Writes the executable to this file. A libtpu of the same version can load it.")
      ->type_name("FILE");
  command
      .add_option("--timeout", flags.timeout,
                  "The compiler is stopped after this time, such as 60s. The default is 10m.")
      ->type_name("TIME");
  AddJsonFlag(command, "CompileReport", flags.json);
}

}  // namespace

void AddCompileCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "compile");
  const auto flags = std::make_shared<CompileFlags>();
  AddOptions(*command, *flags);
  command->callback([flags, &body] { body.run = [flags] { return RunCompile(*flags); }; });
}

void AddCompileChildCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command =
      app.add_subcommand("compile-child", "The process in which `compile` runs the compiler")
          ->group("");
  const auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("files", *files, "request and response")->required()->expected(2);
  command->callback([files, &body] {
    body.run = [files]() -> absl::StatusOr<ExitCode> { RunCompileChild((*files)[0], (*files)[1]); };
  });
}

}  // namespace mallocmuzero::cli
