#include "learner/program_records.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace mallocmuzero {

absl::StatusOr<ProgramRecords> ProgramRecords::Create(const ProgramSet& programs,
                                                      double ranked_quantile) {
  absl::StatusOr<std::vector<ProgramProgress>> progress = StartProgress(programs);
  if (!progress.ok()) return progress.status();
  return ProgramRecords(programs, *std::move(progress), ranked_quantile);
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
  if (NoteIfBest(game, player, progress_[p])) is_improved_[p] = true;
}

void ProgramRecords::AddToBaseline(const v1::Trajectory& game) {
  baselines_.at(game.program_sha256()).Add(game);
}

void ProgramRecords::Refresh() {
  for (auto& [program, baseline] : baselines_) baseline.Refresh();
}

void ProgramRecords::Refresh(size_t p) { baselines_.at((*programs_)[p].sha256()).Refresh(); }

std::vector<size_t> ProgramRecords::TakeImproved() {
  std::vector<size_t> improved;
  for (size_t p = 0; p < progress_.size(); ++p) {
    if (is_improved_[p]) improved.push_back(p);
    is_improved_[p] = false;
  }
  return improved;
}

std::vector<ProgramStanding> ProgramRecords::Standings() const {
  std::vector<ProgramStanding> standings;
  for (size_t p = 0; p < progress_.size(); ++p) {
    const ProgramProgress& progress = progress_[p];
    double best = progress.greedy_return;
    if (!progress.best_actions.empty()) best = std::max(best, progress.best_return);
    const double compiler = progress.program->default_return();
    if (!std::isnan(compiler)) best = std::max(best, compiler);
    ProgramStanding standing = {.best_return = best, .scale = baseline(p).scale().share()};
    if (baseline(p).games() > 0) {
      standing.mean_return = progress.initial_return + baseline(p).At(0).share();
    }
    standings.push_back(standing);
  }
  return standings;
}

std::vector<v1::TrainMetrics::Program> ProgramRecords::Describe() const {
  std::vector<v1::TrainMetrics::Program> described;
  for (size_t p = 0; p < progress_.size(); ++p) {
    described.push_back(DescribeProgress(progress_[p], baseline(p).scale().share()));
  }
  return described;
}

v1::TrainState::Program ProgramRecords::Save(size_t p) const {
  return SaveProgress(progress_[p], baseline(p));
}

bool ProgramRecords::Restore(size_t p, const v1::TrainState::Program& saved) {
  if (!RestoreProgress(saved, progress_[p], baselines_.at((*programs_)[p].sha256()))) return false;
  is_improved_[p] = !progress_[p].best_actions.empty();
  return true;
}

}  // namespace mallocmuzero
