#include "learner/program_records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/recorded_game.h"
#include "env/solvers/solve.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

// A reward that was recorded differs from that of the game by rounding, by less than this.
constexpr double kRewardRounding = 1e-9;

absl::Status Damaged(const PlayedProgram& program, absl::string_view field,
                     absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(program.name(),
                                                 ": the record of the program is damaged: ", field,
                                                 ": ", expected, " expected"));
}

// The game is played to make its mapping, so it must be legal and bring what the record says. There
// may be none.
absl::Status CheckBestGame(const PlayedProgram& program, absl::Span<const Action> actions,
                           double best_return) {
  if (actions.empty()) return absl::OkStatus();
  const std::optional<Game> game = PlayWhole(program.rules(), actions);
  if (!game.has_value()) return Damaged(program, "best_actions", "a whole game of the program");
  const double tolerance = kRewardRounding * static_cast<double>(1 + actions.size());
  if (std::abs(game->total_return() - best_return) <= tolerance) return absl::OkStatus();
  return Damaged(program, "best_return",
                 absl::StrCat(game->total_return(), ", the return of best_actions,"));
}

}  // namespace

absl::Status WriteBestMappings(const RunDirectory& directory,
                               std::vector<ImprovedProgram>& improved) {
  while (!improved.empty()) {
    MMZ_RETURN_IF_ERROR(WriteBestMapping(directory, improved.back().progress));
    improved.pop_back();
  }
  return absl::OkStatus();
}

absl::Status CheckRules(const v1::TrainState& state) {
  const uint32_t version = state.rules_version();
  if (version == 0 || version == kGameRulesVersion) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("games of rules ", version, "; this build plays ",
                                                 kGameRulesVersion, ", so the run cannot go on"));
}

absl::StatusOr<ProgramRecords> ProgramRecords::Create(const ProgramSet& programs,
                                                      double ranked_quantile) {
  std::vector<ProgramProgress> all;
  for (size_t p = 0; p < programs.size(); ++p) {
    const ProgramRules& rules = programs[p].rules();
    const absl::StatusOr<Solution> greedy = Solve("greedy", rules, {});
    if (!greedy.ok()) return greedy.status();
    all.push_back({.program = &programs[p],
                   .initial_return = HbmShare(Game(rules).total_return()),
                   .greedy_return = HbmShare(1 - rules.ShareOfAllHbm(greedy->cycles))});
  }
  return ProgramRecords(programs, std::move(all), ranked_quantile);
}

ProgramRecords::ProgramRecords(const ProgramSet& programs, std::vector<ProgramProgress> progress,
                               double ranked_quantile)
    : programs_(&programs), progress_(std::move(progress)), is_improved_(progress_.size(), false) {
  for (const ProgramProgress& program : progress_) {
    baselines_.emplace(program.program->sha256(),
                       ReturnBaseline(program.program->rules().access_count(), ranked_quantile));
  }
}

const ReturnBaseline& ProgramRecords::baseline(size_t p) const {
  return baselines_.at((*programs_)[p].sha256());
}

void ProgramRecords::NoteGame(const v1::Trajectory& game, const std::string& player) {
  const size_t p = programs_->IndexOf(game.program_sha256());
  ProgramProgress& progress = progress_[p];
  const HbmShare value = TotalReturn(game);
  if (!progress.best_actions.empty() && value <= progress.best_return) return;
  progress.best_return = value;
  progress.best_player = player;
  progress.best_actions = ActionsOf(game.actions());
  is_improved_[p] = true;
}

void ProgramRecords::AddToBaseline(const v1::Trajectory& game) {
  baselines_.at(game.program_sha256()).Add(game);
}

void ProgramRecords::Refresh() {
  for (auto& [program, baseline] : baselines_) baseline.Refresh();
}

void ProgramRecords::Refresh(size_t p) { baselines_.at((*programs_)[p].sha256()).Refresh(); }

std::vector<ImprovedProgram> ProgramRecords::TakeImproved() {
  std::vector<ImprovedProgram> improved;
  for (size_t p = 0; p < progress_.size(); ++p) {
    if (is_improved_[p]) improved.push_back({.index = p, .progress = progress_[p]});
    is_improved_[p] = false;
  }
  return improved;
}

void ProgramRecords::PutBackImproved(absl::Span<const ImprovedProgram> left) {
  for (const ImprovedProgram& program : left) is_improved_[program.index] = true;
}

std::vector<ProgramStanding> ProgramRecords::Standings() const {
  std::vector<ProgramStanding> standings;
  for (size_t p = 0; p < progress_.size(); ++p) {
    const ProgramProgress& progress = progress_[p];
    HbmShare best = progress.greedy_return;
    if (!progress.best_actions.empty()) best = std::max(best, progress.best_return);
    const double compiler = progress.program->default_return();
    if (!std::isnan(compiler)) best = std::max(best, HbmShare(compiler));
    ProgramStanding standing = {.best_return = best, .scale = baseline(p).scale()};
    if (baseline(p).games() > 0) {
      standing.mean_return = progress.initial_return + baseline(p).At(0);
    }
    standings.push_back(standing);
  }
  return standings;
}

std::vector<v1::TrainMetrics::Program> ProgramRecords::Describe(
    absl::Span<const std::optional<HbmShare>> mean_returns) const {
  std::vector<v1::TrainMetrics::Program> described;
  for (size_t p = 0; p < progress_.size(); ++p) {
    const std::optional<HbmShare> mean = mean_returns.empty() ? std::nullopt : mean_returns[p];
    described.push_back(DescribeProgress(progress_[p], mean, baseline(p).scale()));
  }
  return described;
}

void ProgramRecords::SaveTo(v1::TrainState& state) const {
  state.set_rules_version(kGameRulesVersion);
  state.clear_programs();
  for (size_t p = 0; p < progress_.size(); ++p) *state.add_programs() = Save(p);
}

v1::TrainState::Program ProgramRecords::Save(size_t p) const {
  const ProgramProgress& progress = progress_[p];
  v1::TrainState::Program saved;
  saved.set_sha256(progress.program->sha256());
  *saved.mutable_baseline() = baseline(p).Save();
  saved.set_best_return(progress.best_return.share());
  saved.set_best_player(progress.best_player);
  saved.set_best_actions(BytesOf(progress.best_actions));
  // A file has NaN where there is none.
  saved.set_policy_return(progress.policy_return.value_or(HbmShare(std::nan(""))).share());
  return saved;
}

absl::Status ProgramRecords::Restore(size_t p, const v1::TrainState::Program& saved) {
  ProgramProgress& progress = progress_[p];
  const PlayedProgram& program = *progress.program;
  if (saved.sha256() != program.sha256()) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.name(), ": not the program that the run was started with"));
  }
  std::vector<Action> actions = ActionsOf(saved.best_actions());
  const bool is_known =
      actions == progress.best_actions && HbmShare(saved.best_return()) == progress.best_return;
  if (!is_known) MMZ_RETURN_IF_ERROR(CheckBestGame(program, actions, saved.best_return()));
  if (!std::isfinite(saved.best_return())) {
    return Damaged(program, "best_return", "a finite number");
  }
  if (std::isinf(saved.policy_return())) {
    return Damaged(program, "policy_return", "a finite number or NaN");
  }
  if (!baselines_.at(saved.sha256()).Restore(saved.baseline())) {
    return Damaged(program, "baseline", "the numbers of a baseline of this program");
  }
  progress.best_return = HbmShare(saved.best_return());
  progress.best_player = saved.best_player();
  progress.policy_return.reset();
  if (!std::isnan(saved.policy_return())) progress.policy_return = HbmShare(saved.policy_return());
  progress.best_actions = std::move(actions);
  is_improved_[p] = !progress.best_actions.empty();
  return absl::OkStatus();
}

}  // namespace mallocmuzero
