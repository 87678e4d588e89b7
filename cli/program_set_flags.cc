#include "cli/program_set_flags.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "cli/corpus.h"
#include "cli/number_flag.h"
#include "env/program_set.h"
#include "simulator/core/fast_memory_share.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {
namespace {

void AddVariants(Program program, absl::Span<const double> shares, std::vector<Program>& programs) {
  if (shares.empty()) {
    programs.push_back(std::move(program));
    return;
  }
  for (const double share : shares) {
    absl::StatusOr<Program> variant = WithFastMemoryShare(program, share);
    if (variant.ok()) {
      programs.push_back(*std::move(variant));
    } else {
      std::fputs(absl::StrCat("mallocmuzero: ", variant.status().message(), "; left out\n").c_str(),
                 stderr);
    }
  }
}

absl::StatusOr<std::vector<std::string>> FindPaths(const ProgramSetFlags& flags) {
  if (!flags.program.empty()) return std::vector<std::string>{flags.program};
  return flags.split.empty() ? FindSomePrograms(flags.workloads)
                             : FindSplit(flags.workloads, flags.split);
}

}  // namespace

void AddProgramSetFlags(CLI::App& command, const std::string& verb, ProgramSetFlags& flags) {
  CLI::Option* program =
      command.add_option("--program", flags.program, "The program to " + verb + ".")
          ->type_name("FILE");
  CLI::Option* workloads =
      command
          .add_option("--workloads", flags.workloads, "The folder of the programs to " + verb + ".")
          ->type_name("FOLDER")
          ->excludes(program);
  command
      .add_option(
          "--split", flags.split,
          "Takes only the programs of FOLDER that FOLDER/split.csv gives this split. By default "
          "all programs are taken.")
      ->type_name("train|validation|test")
      ->needs(workloads);
  command
      .add_option("--fast-memory", flags.fast_memory,
                  "Takes each program with fast memory of these sizes, given as shares of the "
                  "chip's own, such as 0.25,0.5,1. The default is 1.")
      ->type_name("SHARES")
      ->delimiter(',')
      ->check(AboveZero());
  // CLI11 runs the callback of the command itself after this one.
  command.parse_complete_callback([program, workloads] {
    if (program->count() + workloads->count() == 0) {
      throw CLI::RequiredError("--program or --workloads");
    }
  });
}

absl::StatusOr<ProgramSet> LoadProgramSet(const ProgramSetFlags& flags) {
  const absl::StatusOr<std::vector<std::string>> paths = FindPaths(flags);
  if (!paths.ok()) return paths.status();
  std::vector<Program> programs;
  for (const std::string& path : *paths) {
    absl::StatusOr<Program> program = LoadProgram(path);
    if (!program.ok()) return program.status();
    AddVariants(*std::move(program), flags.fast_memory, programs);
  }
  absl::StatusOr<ProgramSet> set = ProgramSet::Create(std::move(programs));
  if (!set.ok()) {
    return absl::Status(set.status().code(),
                        absl::StrCat(flags.program.empty() ? flags.workloads : flags.program, ": ",
                                     set.status().message()));
  }
  for (const std::string& name : set->idle()) {
    std::fputs(absl::StrCat("mallocmuzero: ", name, ": nothing to decide, left out\n").c_str(),
               stderr);
  }
  return set;
}

}  // namespace mallocmuzero::cli
