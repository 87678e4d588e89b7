#include "dashboard/testing/demo_run.h"

#include <cmath>
#include <random>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/solvers/solve.h"
#include "env/testing/random_game_program.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/mapping.pb.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::testing {
namespace {

constexpr uint32_t kIterations = 40;
constexpr uint32_t kBlocks = 500;  // of LayeredProgram, three instructions each

absl::StatusOr<Mapping> MappingOf(const Program& program, absl::string_view solver,
                                  uint64_t max_games) {
  const ProgramRules rules = ProgramRules::Create(program);
  absl::StatusOr<Solution> solution = Solve(solver, rules, {.max_games = max_games});
  if (!solution.ok()) return solution.status();
  solution->mapping.solver = std::string(solver);
  return std::move(solution->mapping);
}

absl::StatusOr<Mapping> RandomMapping(const Program& program) {
  const ProgramRules rules = ProgramRules::Create(program);
  Player player(PlayerKind::kRandom, 1);
  player.StartGame();
  Game game(rules);
  while (!game.finished()) game.Apply(player.Choose(game));
  return game.ToMapping();
}

// The program with a name of its own and, if there is a mapping, with that as its default.
absl::StatusOr<Program> Renamed(const Program& program, const std::string& name,
                                const Mapping* mapping) {
  v1::Program proto = program.proto();
  proto.set_name(name);
  if (mapping != nullptr) {
    v1::Baseline& baseline = *proto.mutable_baseline();
    *baseline.mutable_mapping() = MappingToProto(*mapping, program);
    const Price price = Simulate(program, *mapping);
    baseline.set_packed(true);
    baseline.set_estimated_cycles(price.estimated_cycles);
    baseline.set_modelled_cycles(price.modelled_cycles);
    baseline.set_stall_cycles(price.stall_cycles);
    baseline.set_total_cycles(price.total_cycles);
    baseline.set_mapping_cycles(price.total_cycles);
  }
  SealProgram(proto);
  return Program::FromProto(std::move(proto));
}

absl::Status WriteVersions(const RunDirectory& directory, const Program& program) {
  const std::pair<absl::string_view, uint64_t> versions[] = {
      {solver_name::kAllHbm, 1}, {solver_name::kGreedy, 1}, {solver_name::kLocalSearch, 300}};
  for (const auto& [solver, games] : versions) {
    const absl::StatusOr<Mapping> mapping = MappingOf(program, solver, games);
    if (!mapping.ok()) return mapping.status();
    MMZ_RETURN_IF_ERROR(directory.WriteBest(program.proto(), MappingToProto(*mapping, program)));
  }
  return absl::OkStatus();
}

}  // namespace

v1::TrainMetrics DemoMetrics(uint32_t iteration) {
  v1::TrainMetrics metrics;
  const double progress = 1 - std::exp(-0.08 * iteration);
  metrics.set_iteration(iteration);
  metrics.set_seconds(2.0 * iteration);
  metrics.set_games(64.0 * iteration);
  metrics.set_decisions(64.0 * 150 * iteration);
  metrics.set_updates(30.0 * iteration);
  metrics.set_play_seconds(0.8);
  metrics.set_learn_seconds(1.1);
  metrics.set_simulations(40000);
  metrics.set_batch_fill(24);
  metrics.set_replay_games(64.0 * iteration);
  metrics.mutable_losses()->set_policy(1.1 - progress);
  metrics.mutable_losses()->set_value(3.7 - 2 * progress);
  metrics.mutable_losses()->set_value_error(0.9 - 0.5 * progress);
  for (const char* name : {kLargeProgram, kHostileProgram}) {
    v1::TrainMetrics::Program& program = *metrics.add_programs();
    program.set_name(name);
    program.set_hardware("small");
    program.set_greedy_return(0.12);
    program.set_mean_return(0.1 + 0.08 * progress);
    program.set_policy_return(0.1 + 0.1 * progress);
    program.set_best_return(0.12 + 0.1 * progress);
    if (program.name() == kLargeProgram) program.set_default_return(0.1);
  }
  return metrics;
}

absl::Status WriteDemoRun(const std::string& path) {
  absl::StatusOr<RunDirectory> directory = RunDirectory::Create(path, {});
  if (!directory.ok()) return directory.status();
  const Program layers = LayeredProgram(kBlocks);
  const absl::StatusOr<Mapping> baseline = RandomMapping(layers);
  if (!baseline.ok()) return baseline.status();
  const absl::StatusOr<Program> large = Renamed(layers, kLargeProgram, &*baseline);
  if (!large.ok()) return large.status();
  std::mt19937_64 random(4);
  const absl::StatusOr<Program> hostile =
      Renamed(RandomGameProgram(random), kHostileProgram, nullptr);
  if (!hostile.ok()) return hostile.status();
  MMZ_RETURN_IF_ERROR(WriteVersions(*directory, *large));
  MMZ_RETURN_IF_ERROR(WriteVersions(*directory, *hostile));
  for (uint32_t i = 1; i <= kIterations; ++i) {
    MMZ_RETURN_IF_ERROR(directory->AppendMetrics(DemoMetrics(i)));
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero::testing
