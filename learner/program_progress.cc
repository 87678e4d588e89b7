#include "learner/program_progress.h"

#include <cmath>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/message_file.h"
#include "env/game.h"
#include "env/solvers/plan.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

// The sum of a game's rewards and the price of its mapping differ by rounding, by less than this.
constexpr double kRounding = 1e-9;

// Whether the file holds a valid mapping of the program with a higher return.
bool HoldsBetter(const std::string& path, const PlayedProgram& played, HbmShare value) {
  const absl::StatusOr<v1::Mapping> proto = ReadMessage<v1::Mapping>(path);
  if (!proto.ok()) return false;
  const absl::StatusOr<Mapping> mapping = MappingFromProto(*proto, played.program());
  if (!mapping.ok() || !Validate(played.program(), *mapping).empty()) return false;
  const double cycles = Simulate(played.program(), *mapping).total_cycles;
  return 1 - played.rules().ShareOfAllHbm(cycles) > value.share() + kRounding;
}

}  // namespace

absl::Status WriteBestMapping(const RunDirectory& directory, const ProgramProgress& progress) {
  if (progress.best_actions.empty()) return absl::OkStatus();
  const PlayedProgram& program = *progress.program;
  const std::string& chip = program.program().hardware().name();
  if (HoldsBetter(directory.BestPath(chip, program.name()), program, progress.best_return)) {
    return absl::OkStatus();
  }
  const Game game = PlayActions(program.rules(), progress.best_actions);
  Mapping mapping = game.ToMapping();
  mapping.solver = progress.best_player;
  return directory.WriteBest(program.program().proto(), MappingToProto(mapping, program.program()));
}

v1::TrainMetrics::Program DescribeProgress(const ProgramProgress& progress,
                                           std::optional<HbmShare> mean_return,
                                           HbmShare baseline_scale) {
  v1::TrainMetrics::Program described;
  described.set_name(progress.program->name());
  described.set_hardware(progress.program->program().hardware().name());
  if (mean_return.has_value()) described.set_mean_return(mean_return->share());
  if (progress.policy_return.has_value()) {
    described.set_policy_return(progress.policy_return->share());
  }
  if (!progress.best_actions.empty()) described.set_best_return(progress.best_return.share());
  described.set_greedy_return(progress.greedy_return.share());
  if (!std::isnan(progress.program->default_return())) {
    described.set_default_return(progress.program->default_return());
  }
  described.set_scale(baseline_scale.share());
  return described;
}

}  // namespace mallocmuzero
