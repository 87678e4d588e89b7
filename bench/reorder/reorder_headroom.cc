// Measures how many cycles a new order of instructions saves in addition to the placement.
//
// reorder_headroom CHIP/PROGRAM...
//
// Searches for an order and a placement of each program, and compares the result with a search for
// a placement in the compiler's order. Writes one line of JSON for each program to standard output;
// docs/reordering.md has the results.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "bench/reorder/order_search.h"
#include "bench/reorder/reordered_program.h"
#include "env/solvers/fewest_cycles.h"
#include "env/solvers/solution.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::reorder {
namespace {

struct Flags {
  std::vector<std::string> programs;  // CHIP/PROGRAM
  std::string workloads = "workloads";
  std::string output;  // folder for the orders; if it is empty, they are not written
  double solve_seconds = 10;
  int seeds = 3;
  OrderSearchOptions search;
};

// Results of local search in one order with several seeds.
struct Solved {
  std::vector<double> cycles;
  Plan best_plan;  // for that order
  double best_cycles = 0;

  double Mean() const {
    double sum = 0;
    for (const double one : cycles) sum += one;
    return sum / static_cast<double>(cycles.size());
  }
};

// Checks the plan with the validator, and returns its price by the simulator.
absl::StatusOr<double> PriceOf(const PlayableOrder& playable, const Plan& plan) {
  const Solution solution = SolutionOf(playable.rules, plan, "local_search");
  const std::vector<Violation> violations = Validate(playable.program, solution.mapping);
  if (violations.empty()) return solution.cycles;
  return absl::InternalError(absl::StrCat(playable.program.proto().name(),
                                          ": not a valid mapping: ", violations[0].message));
}

absl::Status Solve(const PlayableOrder& playable, const Plan& proposal, uint64_t seed,
                   double seconds, Solved& solved) {
  const Plan plan = SolvePlacement(playable, proposal, seed, seconds);
  const absl::StatusOr<double> cycles = PriceOf(playable, plan);
  if (!cycles.ok()) return cycles.status();
  if (solved.cycles.empty() || *cycles < solved.best_cycles) {
    solved.best_cycles = *cycles;
    solved.best_plan = plan;
  }
  solved.cycles.push_back(*cycles);
  return absl::OkStatus();
}

// A lower bound on the cycles of all placements and orders: every instruction at its fastest,
// without waits.
double FewestCyclesOf(const PlayableOrder& playable) {
  double sum = 0;
  for (const InstructionIndex i : playable.program.instructions().indices()) {
    sum += playable.program.instructions()[i].execution_count * FewestCycles(playable.rules, i);
  }
  return sum;
}

absl::Status SaveOrder(const Flags& flags, const Reorderer& reorderer, const std::string& name,
                       const PlayableOrder& playable, const Plan& plan) {
  if (flags.output.empty()) return absl::OkStatus();
  std::error_code error;
  std::filesystem::create_directories(flags.output, error);
  const std::string stem = absl::StrCat(flags.output, "/", absl::StrReplaceAll(name, {{"/", "."}}));
  MMZ_RETURN_IF_ERROR(WriteFileAtomically(
      stem + ".order", absl::StrJoin(reorderer.InstructionNames(playable.order), "\n") + "\n"));
  const Solution solution = SolutionOf(playable.rules, plan, "local_search");
  MMZ_RETURN_IF_ERROR(WriteMessage(stem + ".program", playable.program.proto()));
  return WriteMessage(stem + ".mapping", MappingToProto(solution.mapping, playable.program));
}

absl::Status Measure(const Flags& flags, const std::string& name) {
  auto loaded = Reorderer::Load(absl::StrCat(flags.workloads, "/", name, ".program"),
                                absl::StrCat(flags.workloads, "/captures/", name));
  if (!loaded.ok()) return loaded.status();
  Reorderer& reorderer = **loaded;
  const Baseline* baseline = reorderer.original().baseline();
  if (baseline == nullptr || !(baseline->compiled_cycles > 0)) {
    return absl::InvalidArgumentError("a program with a default expected, to compare with");
  }
  const auto original = reorderer.Build(reorderer.OriginalOrder());
  if (!original.ok()) return original.status();

  Solved before;
  for (int seed = 0; seed < flags.seeds; ++seed) {
    MMZ_RETURN_IF_ERROR(Solve(**original, {}, seed, flags.solve_seconds, before));
  }
  const double search_begin = CpuSeconds();
  const absl::StatusOr<FoundOrder> found =
      SearchOrders(reorderer, (*original)->ToOriginal(before.best_plan), flags.search);
  if (!found.ok()) return found.status();
  const double search_seconds = CpuSeconds() - search_begin;
  const auto reordered = reorderer.Build(found->order);
  if (!reordered.ok()) return reordered.status();
  Solved after;
  for (int seed = 0; seed < flags.seeds; ++seed) {
    MMZ_RETURN_IF_ERROR(Solve(**reordered, (*reordered)->FromOriginal(found->plan), seed,
                              flags.solve_seconds, after));
  }
  // The control is the compiler's order, searched for the same total time.
  Solved control = before;
  MMZ_RETURN_IF_ERROR(Solve(**original, before.best_plan, flags.search.seed + 1000,
                            search_seconds + flags.solve_seconds, control));
  MMZ_RETURN_IF_ERROR(SaveOrder(flags, reorderer, name, **reordered, after.best_plan));

  const double compiled = baseline->compiled_cycles;
  const auto gain = [&](double cycles) { return 100 * (compiled - cycles) / compiled; };
  int moved = 0;
  for (int32_t k = 0; k < reorderer.graph().size(); ++k) moved += found->order[k] != k ? 1 : 0;
  absl::PrintF(
      "{\"program\":\"%s\",\"units\":%d,\"mobility\":%.4f,\"default_cycles\":%.0f,"
      "\"gain_original\":%.4f,\"gain_original_best\":%.4f,\"gain_control\":%.4f,"
      "\"gain_reordered\":%.4f,\"gain_reordered_best\":%.4f,\"gain_bound\":%.4f,\"peak_before\":%d,"
      "\"peak_after\":%d,"
      "\"start\":\"%s\",\"moved\":%d,\"evaluated\":%d,\"accepted\":%d,\"over_memory\":%d,"
      "\"search_cpu_seconds\":%.1f}\n",
      name, reorderer.graph().size(), MeanMobility(reorderer.graph()), compiled,
      gain(before.Mean()), gain(before.best_cycles), gain(control.best_cycles), gain(after.Mean()),
      gain(after.best_cycles), gain(FewestCyclesOf(**original)), PeakHbmBytes((*original)->program),
      PeakHbmBytes((*reordered)->program), found->start, moved, found->evaluated, found->accepted,
      found->over_memory, search_seconds);
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace
}  // namespace mallocmuzero::reorder

int main(int argc, char** argv) {
  mallocmuzero::reorder::Flags flags;
  CLI::App app(
      "Measures how much a better order of instructions gains in addition to the placement.");
  app.add_option("programs", flags.programs, "CHIP/PROGRAM, as in tpu_v6e/dit_4x1024_b48x256")
      ->required();
  app.add_option("--workloads", flags.workloads, "folder with programs and captures");
  app.add_option("--output", flags.output,
                 "folder to write the orders to: names of instructions, program and mapping");
  app.add_option("--search-seconds", flags.search.cpu_seconds,
                 "processor time of the search for an order, in seconds");
  app.add_option("--solve-seconds", flags.solve_seconds,
                 "processor time of each local search, in seconds");
  app.add_option("--seeds", flags.seeds, "number of local searches in each order")
      ->check(CLI::Range(1, 100));
  app.add_option("--games", flags.search.games, "number of games of local search in each order");
  app.add_option("--temperature", flags.search.temperature,
                 "start temperature of the annealing, as a share of the cycles");
  app.add_option("--seed", flags.search.seed, "seed of the search for an order");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& name : flags.programs) {
    const absl::Status status = mallocmuzero::reorder::Measure(flags, name);
    if (status.ok()) continue;
    std::fprintf(stderr, "reorder_headroom: %s: %s\n", name.c_str(), status.ToString().c_str());
    return 1;
  }
  return 0;
}
