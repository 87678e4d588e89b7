#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/stop_signal.h"
#include "base/thread_count.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/compiler_flags.h"
#include "cli/duration_flag.h"
#include "cli/number_flag.h"
#include "cli/price_report.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "compiler/chip.h"
#include "compiler/find_library.h"
#include "mallocmuzero/v1/optimize.pb.h"
#include "mallocmuzero/xla/compile_options.pb.h"
#include "optimize/placed_search.h"
#include "simulator/core/hardware.h"

namespace mallocmuzero::cli {
namespace {

constexpr uint64_t kMostRounds = 1000;

// The result, in the folder of the search.
constexpr char kModuleFile[] = "module.pb";
constexpr char kExecutableFile[] = "executable.bin";

struct OptimizeFlags {
  std::string hlo;
  std::string all_hbm;
  std::string by_default;
  std::vector<std::string> samples;
  std::vector<std::string> placed;
  CompilerFlags compiler;
  bool keep_scoped_limit = false;
  std::string output;
  std::string budget = "5m";
  std::string solve = "5s";
  std::string compile_time = "0";
  uint32_t rounds = 12;
  uint32_t threads = 0;
  uint64_t seed = 0;
  bool json = false;
};

// True if the search writes a file of that name into its folder (optimize/).
bool IsWritten(absl::string_view name, bool compiles_program) {
  if (name == kModuleFile || name == kExecutableFile || absl::StartsWith(name, "placed_")) {
    return true;
  }
  return compiles_program &&
         (name == "all_hbm.pb" || name == "default.pb" || absl::StartsWith(name, "limit_"));
}

// InvalidArgument if the search would write over one of its inputs, such as a placed module of an
// earlier search in the same folder.
absl::Status CheckInputsAreKept(const OptimizeFlags& flags) {
  std::vector<std::string> inputs = {flags.hlo, flags.all_hbm, flags.by_default,
                                     flags.compiler.compile_options};
  inputs.insert(inputs.end(), flags.samples.begin(), flags.samples.end());
  inputs.insert(inputs.end(), flags.placed.begin(), flags.placed.end());
  for (const std::string& input : inputs) {
    const std::string name = std::filesystem::path(input).filename().string();
    if (!IsWritten(name, !flags.hlo.empty())) continue;
    MMZ_RETURN_IF_ERROR(CheckOutputIsNotRead(absl::StrCat(flags.output, "/", name), {input}));
  }
  return absl::OkStatus();
}

absl::Status ReadProgram(const OptimizeFlags& flags, PlacedSearchRequest& request) {
  if (flags.hlo.empty() == flags.all_hbm.empty()) {
    return absl::InvalidArgumentError(
        "--hlo: expected either a program to compile, or --all-hbm and --default of one compiled");
  }
  if (flags.hlo.empty()) {
    request.all_hbm_path = flags.all_hbm;
    request.default_path = flags.by_default;
    return absl::OkStatus();
  }
  absl::StatusOr<CompilerInput> input = ReadCompilerInput(flags.hlo);
  if (!input.ok()) return input.status();
  request.code = std::move(input->code);
  request.format = std::move(input->format);
  return absl::OkStatus();
}

absl::StatusOr<PlacedSearchRequest> MakeRequest(const OptimizeFlags& flags) {
  PlacedSearchRequest request;
  const absl::StatusOr<CompilerChip> chip = FindCompilerChip(flags.compiler.chip);
  if (!chip.ok()) return chip.status();
  request.chip = *chip;
  absl::StatusOr<v1::Hardware> hardware = LoadHardware(flags.compiler.chip);
  if (!hardware.ok()) return hardware.status();
  request.hardware = *std::move(hardware);
  absl::StatusOr<std::string> topology = ChosenTopology(flags.compiler, *chip);
  if (!topology.ok()) return topology.status();
  request.topology = *std::move(topology);
  MMZ_RETURN_IF_ERROR(ReadProgram(flags, request));
  absl::StatusOr<xla::CompileOptionsProto> options = ReadCompileOptions(flags.compiler);
  if (!options.ok()) return options.status();
  request.options = *std::move(options);
  absl::StatusOr<std::string> library = FindCompilerLibrary(flags.compiler.library);
  if (!library.ok()) return library.status();
  request.library = *std::move(library);
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  if (error) {
    return absl::FailedPreconditionError(
        absl::StrCat(flags.output, ": cannot make this folder: ", error.message()));
  }
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(absl::StrCat(flags.output, "/", kModuleFile)));
  request.folder = flags.output;
  request.keep_scoped_limit = flags.keep_scoped_limit;
  request.sample_paths = flags.samples;
  request.placed_paths = flags.placed;
  request.most_rounds = flags.rounds;
  request.threads = ThreadCount(flags.threads);
  request.seed = flags.seed;
  return request;
}

// "48 MiB" between the other two; empty if it is the chip's own.
std::string ScopedLimit(const v1::PlacedRound& round, const char* before, const char* after) {
  if (round.scoped_limit_bytes() == 0) return "";
  return absl::StrCat(before, FormatMebibytes(round.scoped_limit_bytes()), " MiB", after);
}

void PrintRound(const v1::PlacedRound& round) {
  std::fputs(absl::StrCat(round.is_sample() ? "sample " : "round ", round.number(),
                          ScopedLimit(round, ", ", " of scoped memory"), ": promised ",
                          FormatCycles(round.promised_cycles()), ", ",
                          round.has_compiled_cycles()
                              ? absl::StrCat("compiled ", FormatCycles(round.compiled_cycles()))
                              : round.error(),
                          "\n")
                 .c_str(),
             stderr);
}

std::string RoundTable(const v1::OptimizeReport& report) {
  Table table({{"round", Table::Align::kRight},
               {"scoped limit", Table::Align::kRight},
               {"promised", Table::Align::kRight},
               {"compiled", Table::Align::kRight},
               {"elsewhere", Table::Align::kRight},
               {"MiB packed", Table::Align::kRight},
               {"of MiB", Table::Align::kRight},
               {"compile, s", Table::Align::kRight}});
  for (const v1::PlacedRound& round : report.rounds()) {
    const std::string limit = ScopedLimit(round, "", "");
    table.AddRow({absl::StrCat(round.number(), round.is_sample() ? " (sample)" : ""),
                  limit.empty() ? "own" : limit, FormatCycles(round.promised_cycles()),
                  round.has_compiled_cycles() ? FormatCycles(round.compiled_cycles()) : "refused",
                  FormatCount(round.accesses_elsewhere()), FormatMebibytes(round.packed_bytes()),
                  FormatMebibytes(round.fast_memory_bytes()),
                  absl::StrFormat("%.1f", round.compile_seconds())});
  }
  return table.ToText();
}

std::string Notes(const v1::OptimizeReport& report) {
  return report.notes().empty() ? ""
                                : absl::StrCat("\n", absl::StrJoin(report.notes(), "\n"), "\n");
}

std::string DefaultText(const v1::OptimizeReport& report) {
  if (report.has_default_cycles()) return FormatCycles(report.default_cycles());
  if (report.default_error().empty()) return "not given";
  return absl::StrCat("refused: ", report.default_error());
}

std::string ReportText(const v1::OptimizeReport& report, const OptimizeFlags& flags) {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.push_back({"by default", DefaultText(report)});
  std::string best =
      report.has_optimized_cycles() ? "the default is kept" : "nothing: no module was compiled";
  if (report.has_best_round() || report.best_scoped_limit_bytes() > 0) {
    best = ComparedCycles(report.optimized_cycles(), report.has_default_cycles(),
                          report.default_cycles());
    if (report.best_scoped_limit_bytes() > 0) {
      absl::StrAppend(&best, report.has_best_round() ? ", with " : ", by ",
                      FormatMebibytes(report.best_scoped_limit_bytes()), " MiB of scoped memory",
                      report.has_best_round() ? "" : " alone");
    }
  }
  facts.push_back({"best", std::move(best)});
  for (const v1::ScopedLimitTrial& trial : report.scoped_limits()) {
    facts.push_back({absl::StrCat("default, ", FormatMebibytes(trial.limit_bytes()), " MiB"),
                     trial.has_default_cycles() ? FormatCycles(trial.default_cycles())
                                                : absl::StrCat("refused: ", trial.error())});
  }
  return absl::StrCat(report.program(), " for ", report.chip(), "\n\n", FactList(facts), "\n",
                      RoundTable(report), Notes(report), "\nwrote ", flags.output, "\n");
}

// Replaces the files of an earlier search, which may be another program's. They stay as they are
// until both new ones are on the disk, and are removed if there is no result.
absl::Status WriteResult(const OptimizeFlags& flags, const PlacedSearchResult& result) {
  const std::string module = absl::StrCat(flags.output, "/", kModuleFile);
  const std::string executable = absl::StrCat(flags.output, "/", kExecutableFile);
  if (result.module.empty()) {
    std::error_code error;
    std::filesystem::remove(module, error);
    std::filesystem::remove(executable, error);
    return absl::OkStatus();
  }
  const FileContent files[] = {{.path = executable, .bytes = result.executable},
                               {.path = module, .bytes = result.module}};
  const absl::Status written = WriteFilesTogether(files);
  return written.ok() ? absl::OkStatus() : OutputError(written);
}

absl::StatusOr<ExitCode> RunOptimize(const OptimizeFlags& flags) {
  const absl::StatusOr<absl::Duration> budget = ParseDuration("--budget", flags.budget);
  if (!budget.ok()) return budget.status();
  const absl::StatusOr<absl::Duration> solve = ParseDuration("--solve", flags.solve);
  if (!solve.ok()) return solve.status();
  const absl::StatusOr<absl::Duration> compile_time =
      ParseDurationOrZero("--compile-time", flags.compile_time);
  if (!compile_time.ok()) return compile_time.status();
  MMZ_RETURN_IF_ERROR(CheckInputsAreKept(flags));
  absl::StatusOr<PlacedSearchRequest> request = MakeRequest(flags);
  if (!request.ok()) return request.status();
  const StopSignal signal;
  request->deadline = SteadyNow() + *budget;
  request->solve_time = *solve;
  request->compile_time = *compile_time;
  request->stop_fd = signal.fd();
  request->stop = [&signal] { return signal.Wait(absl::ZeroDuration()); };
  request->progress = PrintRound;
  const absl::StatusOr<PlacedSearchResult> result = SearchPlacements(*request);
  if (!result.ok()) return result.status();
  MMZ_RETURN_IF_ERROR(WriteResult(flags, *result));
  return flags.json ? PrintJson(result->report) : PrintText(ReportText(result->report, flags));
}

void AddInputs(CLI::App& command, OptimizeFlags& flags) {
  command
      .add_option(
          "--hlo", flags.hlo,
          "The program to compile: StableHLO as bytecode or text, or a serialised HloModuleProto.")
      ->type_name("FILE");
  command
      .add_option("--all-hbm", flags.all_hbm,
                  "The program compiled with everything in HBM, a serialised HloModuleProto. It "
                  "takes the place of --hlo.")
      ->type_name("FILE");
  command
      .add_option(
          "--default", flags.by_default,
          "The program compiled by default, HLO text or HloModuleProto. It goes with --all-hbm.")
      ->type_name("FILE")
      ->needs("--all-hbm");
  command
      .add_option(
          "--sample", flags.samples,
          "The program compiled under another placement, for the latency table. May be repeated.")
      ->type_name("FILE");
  command
      .add_option("--placed", flags.placed,
                  "A module placed_N.pb of an earlier search with the same --all-hbm, which this "
                  "search goes on from. It is in another folder than --output. May be repeated.")
      ->type_name("FILE")
      ->needs("--all-hbm");
  AddCompilerFlags(command,
                   "Sets a compiler option for every compile, such as "
                   "xla_tpu_scoped_vmem_limit_kib=49152. May be repeated.",
                   flags.compiler);
  command.add_flag(
      "--keep-scoped-limit", flags.keep_scoped_limit,
      "Keeps the chip's own limit of scoped memory. By default other limits are tried too, if "
      "--hlo gives the program and no option sets the limit.");
}

}  // namespace

void AddOptimizeCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "optimize");
  const auto flags = std::make_shared<OptimizeFlags>();
  AddInputs(*command, *flags);
  command
      ->add_option("--output", flags->output,
                   "The folder to write: module.pb and executable.bin of the fastest compile, and "
                   "the compiled modules of each round.")
      ->type_name("FOLDER")
      ->required();
  command
      ->add_option("--budget", flags->budget,
                   "The time of the whole search, such as 90s. The default is 5m.")
      ->type_name("TIME");
  command
      ->add_option("--solve", flags->solve,
                   "The time of local search in each round. The default is 5s.")
      ->type_name("TIME");
  command
      ->add_option("--compile-time", flags->compile_time,
                   "The time that a compile of the program takes. It shows whether there is time "
                   "for samples before anything is compiled. The default is 0: it is not known.")
      ->type_name("TIME");
  command
      ->add_option("--rounds", flags->rounds,
                   "The search ends after this number of rounds, or earlier if some rounds in a "
                   "row gain nothing. The default is 12.")
      ->type_name("N")
      ->check(WholeNumber(1, kMostRounds));
  command
      ->add_option(
          "--threads", flags->threads,
          "The number of threads of local search, and of compiles at once. The default is one "
          "per core.")
      ->type_name("N")
      ->check(WholeNumber(1, kMostThreads));
  command->add_option("--seed", flags->seed, "The seed of all random choices. The default is 0.")
      ->type_name("N")
      ->check(WholeNumber(0));
  AddJsonFlag(*command, "OptimizeReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunOptimize(*flags); }; });
}

}  // namespace mallocmuzero::cli
