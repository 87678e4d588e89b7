#include "cli/map_command.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "base/steady_clock.h"
#include "base/thread_count.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/duration_flag.h"
#include "cli/explain_report.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/solve_progress.h"
#include "cli/table.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "env/solvers/solver.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/bound/upper_bound.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"
#include "view/mapping_svg.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kReasonsShown = 10;

struct MapFlags {
  std::string program;
  std::string solver{solver_name::kPortfolio};
  std::string checkpoint;
  std::string server;
  std::string server_security;
  std::string budget = "60s";
  uint32_t threads = 0;
  uint64_t seed = 0;
  std::string output;
  std::string plot;
  bool explain = false;
  bool json = false;
};

std::string KnownSolvers() { return absl::StrJoin(SolverNames(), ", "); }

// Whether a network plays: a portfolio has one only if the user names it (docs/learning.md).
bool PlaysNetwork(const MapFlags& flags) {
  return flags.solver == solver_name::kAgent || !flags.checkpoint.empty();
}

// A search may take hours: errors that would make its result useless are reported before it.
absl::Status CheckFlags(const MapFlags& flags, const Program& program) {
  const absl::Span<const absl::string_view> solvers = SolverNames();
  if (std::find(solvers.begin(), solvers.end(), flags.solver) == solvers.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--solver: expected one of ", KnownSolvers(), ", found '", flags.solver, "'"));
  }
  const bool may_play =
      flags.solver == solver_name::kAgent || flags.solver == solver_name::kPortfolio;
  if (!flags.checkpoint.empty() && !may_play) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint: --solver ", flags.solver,
                     " plays no networks; --solver agent or portfolio expected"));
  }
  if (!flags.server.empty() && !flags.checkpoint.empty()) {
    return absl::InvalidArgumentError(
        "--checkpoint: the server of --server plays a network of its own");
  }
  if (flags.server.empty() && !flags.server_security.empty()) {
    return absl::InvalidArgumentError("--server-security: --server expected, too");
  }
  MMZ_RETURN_IF_ERROR(CheckIsSvgName(flags.plot));
  if (!flags.plot.empty() && WholePath(flags.plot) == WholePath(flags.output)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--plot: ", flags.plot, ": another file than that of --output expected"));
  }
  if (flags.explain && program.baseline() == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--explain: ", flags.program, " has no default mapping to compare with"));
  }
  for (const std::string& path : {flags.output, flags.plot}) {
    MMZ_RETURN_IF_ERROR(
        CheckOutputIsNotRead(path, {flags.program, flags.checkpoint, flags.server_security}));
    MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(path));
  }
  return absl::OkStatus();
}

// The agent that plays a network.
absl::StatusOr<std::unique_ptr<Solver>> LoadAgent(const MapFlags& flags, const AgentPlayer& player,
                                                  const PlayedProgram& program) {
  const std::string checkpoint =
      flags.checkpoint.empty() ? player.shipped_checkpoint() : flags.checkpoint;
  if (!checkpoint.empty()) return player.load(program, checkpoint);
  return absl::InvalidArgumentError("--solver agent: --checkpoint expected, none is installed");
}

// Searches in this process. `player` may be null if no network plays.
absl::StatusOr<Solution> SolveHere(const MapFlags& flags, const AgentPlayer* player,
                                   const PlayedProgram& program, SolveOptions options) {
  absl::StatusOr<std::unique_ptr<Solver>> agent = nullptr;
  if (PlaysNetwork(flags)) agent = LoadAgent(flags, *player, program);
  if (!agent.ok()) return agent.status();
  options.agent = agent->get();
  return Solve(flags.solver, program.rules(), options);
}

v1::MapReport MakeReport(const Program& program, const ProgramRules& rules,
                         const Solution& solution, absl::Duration spent) {
  v1::MapReport report;
  report.set_program(program.proto().name());
  report.set_hardware(program.hardware().name());
  report.set_solver(solution.solver);
  report.set_total_cycles(solution.cycles);
  report.set_all_hbm_cycles(rules.all_hbm_cycles());
  const Baseline* baseline = program.baseline();
  if (baseline != nullptr) report.set_default_cycles(baseline->compiled_cycles);
  report.set_seconds(absl::ToDoubleSeconds(spent));
  report.set_games(solution.games);
  report.set_simulations(solution.simulations);
  report.set_interrupted(solution.interrupted);
  // A default that is not packed has no addresses to check.
  if (solution.solver == kDefaultMappingName && baseline->packed) {
    report.set_violations(Size32(Validate(program, solution.mapping)));
  }
  return report;
}

// The bound gets a tenth of the search's budget, and at most a second.
void AddBound(const Program& program, absl::Duration budget, v1::MapReport& report) {
  const absl::Duration most = std::clamp(budget / 10, absl::Milliseconds(20), absl::Seconds(1));
  const UpperBound bound = FindUpperBound(program, {.deadline = SteadyNow() + most});
  report.set_bound_cycles(report.all_hbm_cycles() - bound.saved_cycles);
  report.set_unlimited_cycles(report.all_hbm_cycles() - bound.unlimited_saved_cycles);
}

// "; no mapping saves more than 1.23 %" than the placement that takes `cycles`.
std::string BoundText(const v1::MapReport& report, double cycles) {
  if (cycles <= 0) return "";
  return absl::StrCat("; no mapping saves more than ",
                      FormatPercent(std::max(0.0, 1 - report.bound_cycles() / cycles), 2));
}

// "; ours saves 1.23 %" of the placement that takes `cycles`. A loss that prints as 0.00 % is a
// difference of rounding.
std::string GainText(const v1::MapReport& report, double cycles) {
  if (cycles <= 0) return "";
  const double saved = 1 - report.total_cycles() / cycles;
  return absl::StrCat("; ours ", saved > -0.00005 ? "saves " : "loses ",
                      FormatPercent(std::abs(saved), 2));
}

// "SOLVER found 1.234 Mcycles in 2.0 s (5 games)", and a comparison with the default and with
// everything in HBM.
std::string FoundText(const v1::MapReport& report, absl::string_view spent) {
  std::string text =
      absl::StrCat(report.solver(), " found ", FormatCycles(report.total_cycles()), spent, "\n");
  const auto compare = [&](absl::string_view name, double cycles) {
    absl::StrAppend(&text, "  ", name, FormatCycles(cycles), GainText(report, cycles),
                    BoundText(report, cycles), "\n");
  };
  if (report.has_default_cycles()) compare("default     ", report.default_cycles());
  compare("all in HBM  ", report.all_hbm_cycles());
  return text;
}

// With both prices of the default: `simulate` prints that of the mapping.
std::string DefaultKeptText(const Baseline& baseline, const v1::MapReport& report,
                            absl::string_view spent) {
  return absl::StrCat(
      "nothing found", spent,
      " that costs less than the compiler's own placement, which is kept\n  as compiled ",
      FormatCycles(baseline.compiled_cycles), ", as a mapping ",
      FormatCycles(baseline.mapped_cycles), BoundText(report, baseline.compiled_cycles),
      "\n  all in HBM  ", FormatCycles(report.all_hbm_cycles()), "\n");
}

std::string MapText(const MapFlags& flags, const Program& program, const v1::MapReport& report) {
  const std::string spent = absl::StrCat(absl::StrFormat(" in %.1f s (", report.seconds()),
                                         FormatCounted(report.games(), "game"), ")",
                                         report.interrupted() ? ", interrupted" : "");
  const bool kept =
      flags.solver == solver_name::kPortfolio && report.solver() == kDefaultMappingName;
  std::string text = absl::StrCat(
      report.program(), " on ", report.hardware(), ": ",
      kept ? DefaultKeptText(*program.baseline(), report, spent) : FoundText(report, spent));
  if (report.violations() > 0) {
    absl::StrAppend(&text, "  as imported it breaks rules of the game, ",
                    FormatCount(report.violations()),
                    " times (validate --mapping default lists them)\n");
  }
  if (report.has_explanation()) absl::StrAppend(&text, "\n", ExplainText(report.explanation()));
  return text;
}

absl::Status WritePlot(const Program& program, const Solution& solution, const std::string& path) {
  const Baseline* baseline = program.baseline();
  std::vector<view::Panel> panels = {
      {.title = solution.solver,
       .mapping = &solution.mapping,
       .has_addresses = solution.solver != kDefaultMappingName || baseline->packed}};
  view::PlotOptions options;
  view::AddDefault(program, panels, options);
  return WriteFileAtomically(path, view::MappingSvg(program, panels, options));
}

absl::Status WriteOutputs(const MapFlags& flags, const Program& program, const Solution& solution) {
  absl::Status status = WriteMessage(flags.output, MappingToProto(solution.mapping, program));
  if (status.ok() && !flags.plot.empty()) status = WritePlot(program, solution, flags.plot);
  return status.ok() ? status : OutputError(status);
}

// Searches here or on a server, and shows how far it is. `agent` may be null if no network plays
// and no server is asked.
absl::StatusOr<Solution> Search(const MapFlags& flags, const AgentPlayer* agent,
                                const PlayedProgram& played, absl::Duration budget,
                                absl::Time start) {
  const Baseline* baseline = played.program().baseline();
  auto bar = std::make_unique<SolveProgressBar>(
      start, budget, baseline != nullptr ? baseline->compiled_cycles : 0);
  SolveOptions options;
  options.deadline = start + budget;
  options.threads = ThreadCount(flags.threads);
  options.seed = flags.seed;
  options.stop = InterruptGuard::interrupted;
  options.progress = [&bar](const SolveProgress& progress) { bar->Show(progress); };
  if (flags.server.empty()) return SolveHere(flags, agent, played, options);
  absl::Status cut_short;
  absl::StatusOr<Solution> solution =
      agent->ask_server({.address = flags.server,
                         .security_file = flags.server_security,
                         .solver = flags.solver,
                         .budget = budget,
                         .threads = flags.threads,
                         .cut_short = [&cut_short](const absl::Status& why) { cut_short = why; }},
                        played.program(), options);
  bar = nullptr;  // ends its line before the next one
  if (!cut_short.ok()) {
    std::fputs(
        absl::StrCat("mallocmuzero: ", cut_short.message(), "; the best mapping so far is kept\n")
            .c_str(),
        stderr);
  }
  return solution;
}

// `agent` may be null if no network plays and no server is asked.
absl::StatusOr<ExitCode> RunMap(const MapFlags& flags, const AgentPlayer* agent) {
  const absl::StatusOr<absl::Duration> budget = ParseDuration("--budget", flags.budget);
  if (!budget.ok()) return budget.status();
  absl::StatusOr<Program> loaded = LoadProgram(flags.program);
  if (!loaded.ok()) return loaded.status();
  MMZ_RETURN_IF_ERROR(CheckFlags(flags, *loaded));
  const std::unique_ptr<PlayedProgram> played = PlayedProgram::Create(*std::move(loaded));
  const Program& program = played->program();
  const ProgramRules& rules = played->rules();
  const absl::Time start = SteadyNow();
  absl::StatusOr<Solution> solution;
  {
    // Also covers the files: a signal just after the end of the search must not lose its result.
    const InterruptGuard guard;
    solution = Search(flags, agent, *played, *budget, start);
    if (!solution.ok()) return solution.status();
    MMZ_RETURN_IF_ERROR(WriteOutputs(flags, program, *solution));
  }
  v1::MapReport report = MakeReport(program, rules, *solution, SteadyNow() - start);
  AddBound(program, *budget, report);
  if (flags.explain) {
    *report.mutable_explanation() =
        MakeExplainReport(program, {solution->solver, solution->mapping},
                          {kDefaultMappingName, program.baseline()->mapping}, kReasonsShown);
  }
  return flags.json ? PrintJson(report) : PrintText(MapText(flags, program, report));
}

CLI::App* AddMap(CLI::App& app, const std::shared_ptr<MapFlags>& flags) {
  CLI::App* command = AddSubcommand(app, "map");
  AddProgramFlag(*command, flags->program)->required();
  command
      ->add_option("--solver", flags->solver,
                   absl::StrCat("The solver: ", KnownSolvers(), ". The default is portfolio."))
      ->type_name("NAME");
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "The network that plays a part of the budget in agent and portfolio. The "
                   "default is the network that comes with the software for agent, and none for "
                   "portfolio.")
      ->type_name("FILE");
  command
      ->add_option("--server", flags->server,
                   "Lets the server of `serve` at this address search instead of this process.")
      ->type_name("HOST:PORT");
  command
      ->add_option("--server-security", flags->server_security,
                   "The certificates and the token for --server (Security, text).")
      ->type_name("FILE");
  command
      ->add_option("--budget", flags->budget,
                   "The time of the search, such as 500ms, 60s or 5m. The default is 60s.")
      ->type_name("TIME");
  command
      ->add_option("--threads", flags->threads,
                   "The number of threads of local search in local_search, portfolio and agent. "
                   "The default is one thread per core.")
      ->type_name("N")
      ->check(WholeNumber(1, kMostThreads));
  command->add_option("--seed", flags->seed, "The seed of all random choices. The default is 0.")
      ->type_name("N")
      ->check(WholeNumber(0));
  command->add_option("--output", flags->output, "The mapping file to write.")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--plot", flags->plot,
                   "Draws the mapping beside the compiler's default in this SVG file.")
      ->type_name("FILE");
  command->add_flag("--explain", flags->explain,
                    "Prints the decisions that gain most against the compiler's default.");
  AddJsonFlag(*command, "MapReport", flags->json);
  command->footer("Ctrl-C ends the search and keeps the best.");
  return command;
}

}  // namespace

void AddMapCommand(CLI::App& app, CommandBody& body) {
  const auto flags = std::make_shared<MapFlags>();
  AddMap(app, flags)->callback([flags, &body] {
    body.needs_agent = PlaysNetwork(*flags) || !flags->server.empty();
    body.run = [flags] { return RunMap(*flags, nullptr); };
  });
}

void AddMapCommandWithAgent(CLI::App& app, CommandBody& body, const AgentPlayer& agent) {
  const auto flags = std::make_shared<MapFlags>();
  AddMap(app, flags)->callback([flags, agent, &body] {
    body.run = [flags, agent] { return RunMap(*flags, &agent); };
  });
}

}  // namespace mallocmuzero::cli
