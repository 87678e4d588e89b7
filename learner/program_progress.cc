#include "learner/program_progress.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/message_file.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/solve.h"
#include "replay/trajectory_buffer.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

bool IsWholeGame(const ProgramRules& rules, absl::Span<const Action> actions) {
  Game game(rules);
  for (const Action action : actions) {
    const bool is_action = static_cast<uint8_t>(action) < kActionCount;
    if (game.finished() || !is_action || !game.IsLegal(action)) return false;
    game.Apply(action);
  }
  return game.finished();
}

// The sum of a game's rewards and the price of its mapping differ by rounding, by less than this.
constexpr double kRounding = 1e-9;

// Whether the file holds a valid mapping of the program with a higher return.
bool HoldsBetter(const std::string& path, const PlayedProgram& played, double value) {
  const absl::StatusOr<v1::Mapping> proto = ReadMessage<v1::Mapping>(path);
  if (!proto.ok()) return false;
  const absl::StatusOr<Mapping> mapping = MappingFromProto(*proto, played.program());
  if (!mapping.ok() || !Validate(played.program(), *mapping).empty()) return false;
  const double cycles = Simulate(played.program(), *mapping).total_cycles;
  return 1 - played.rules().ShareOfAllHbm(cycles) > value + kRounding;
}

}  // namespace

absl::StatusOr<std::vector<ProgramProgress>> StartProgress(const ProgramSet& programs) {
  std::vector<ProgramProgress> all;
  for (size_t p = 0; p < programs.size(); ++p) {
    const ProgramRules& rules = programs[p].rules();
    const absl::StatusOr<Solution> greedy = Solve("greedy", rules, {});
    if (!greedy.ok()) return greedy.status();
    all.push_back({.program = &programs[p],
                   .initial_return = Game(rules).total_return(),
                   .greedy_return = 1 - rules.ShareOfAllHbm(greedy->cycles)});
  }
  return all;
}

bool NoteIfBest(const v1::Trajectory& game, const std::string& player, ProgramProgress& progress) {
  const double value = TotalReturn(game).share();
  if (!progress.best_actions.empty() && value <= progress.best_return) return false;
  progress.best_return = value;
  progress.best_player = player;
  progress.best_actions.clear();
  for (const char action : game.actions()) {
    progress.best_actions.push_back(static_cast<Action>(action));
  }
  return true;
}

absl::Status CheckRules(uint32_t rules_version) {
  if (rules_version == kGameRulesVersion) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("games of rules ", rules_version,
                                                 "; this build plays ", kGameRulesVersion,
                                                 ", so the run cannot go on"));
}

v1::TrainState::Program SaveProgress(const ProgramProgress& progress,
                                     const ReturnBaseline& baseline) {
  v1::TrainState::Program saved;
  saved.set_sha256(progress.program->sha256());
  *saved.mutable_baseline() = baseline.Save();
  saved.set_best_return(progress.best_return);
  saved.set_best_player(progress.best_player);
  for (const Action action : progress.best_actions) {
    saved.mutable_best_actions()->push_back(static_cast<char>(action));
  }
  saved.set_policy_return(progress.policy_return);
  return saved;
}

bool RestoreProgress(const v1::TrainState::Program& saved, ProgramProgress& progress,
                     ReturnBaseline& baseline) {
  std::vector<Action> actions;
  for (const char action : saved.best_actions()) actions.push_back(static_cast<Action>(action));
  if (saved.sha256() != progress.program->sha256()) return false;
  // The game will be played to make its mapping, so it must be legal.
  if (!actions.empty() && actions != progress.best_actions &&
      !IsWholeGame(progress.program->rules(), actions)) {
    return false;
  }
  if (!std::isfinite(saved.best_return()) || std::isinf(saved.policy_return())) return false;
  if (!baseline.Restore(saved.baseline())) return false;
  progress.best_return = saved.best_return();
  progress.best_player = saved.best_player();
  progress.policy_return = saved.policy_return();
  progress.best_actions = std::move(actions);
  return true;
}

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

v1::TrainMetrics::Program DescribeProgress(const ProgramProgress& progress, double baseline_scale) {
  v1::TrainMetrics::Program described;
  described.set_name(progress.program->name());
  described.set_hardware(progress.program->program().hardware().name());
  if (!std::isnan(progress.policy_return)) described.set_policy_return(progress.policy_return);
  if (!progress.best_actions.empty()) described.set_best_return(progress.best_return);
  described.set_greedy_return(progress.greedy_return);
  if (!std::isnan(progress.program->default_return())) {
    described.set_default_return(progress.program->default_return());
  }
  described.set_scale(baseline_scale);
  return described;
}

void AddLosses(const UpdateResult& result, double share, v1::TrainMetrics::Losses& losses) {
  losses.set_total(losses.total() + share * result.total_loss);
  losses.set_policy(losses.policy() + share * result.policy_loss);
  losses.set_value(losses.value() + share * result.value_loss);
  losses.set_reward(losses.reward() + share * result.reward_loss);
  if (result.consistency_loss.has_value()) {
    losses.set_consistency(losses.consistency() + share * *result.consistency_loss);
  }
  losses.set_gradient_norm(losses.gradient_norm() + share * result.gradient_norm);
  losses.set_learning_rate(result.learning_rate);
  double error = 0;
  for (const float e : result.value_errors) error += e;
  error /= static_cast<double>(result.value_errors.size());
  losses.set_value_error(losses.value_error() + share * error);
}

}  // namespace mallocmuzero
