#include "learner/role/scored_versions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace mallocmuzero {
namespace {

// The most totals that are kept of a candidate, one for each actor and program: 64 MiB. Reports of
// further actors are ignored.
constexpr size_t kMostTotals = size_t{4} << 20;

}  // namespace

ScoredVersions::ScoredVersions(const std::vector<std::string>& programs,
                               ScoredVersionsOptions options)
    : options_(options) {
  for (size_t p = 0; p < programs.size(); ++p) program_of_[programs[p]] = p;
}

void ScoredVersions::Publish(std::shared_ptr<const PublishedWeights> weights) {
  const absl::MutexLock lock(&mutex_);
  if (candidate_.weights != nullptr) return;
  candidate_ = {.weights = std::move(weights),
                .scores = std::vector<ScoredVersion::Score>(program_of_.size())};
  moved_ = true;
}

std::shared_ptr<const PublishedWeights> ScoredVersions::candidate() const {
  const absl::MutexLock lock(&mutex_);
  return candidate_.weights;
}

void ScoredVersions::Clear() {
  candidate_ = {};
  totals_.clear();
}

std::vector<ScoredVersions::ProgramScore> ScoredVersions::AcceptReport(
    const v1::ActorReport& report) {
  const v1::ActorReport::CandidateGames& games = report.candidate_games();
  const absl::MutexLock lock(&mutex_);
  std::vector<ProgramScore> changed;
  if (candidate_.weights == nullptr || games.sha256() != candidate_.weights->notice.sha256()) {
    return changed;
  }
  const size_t programs = program_of_.size();
  if (!totals_.contains(report.actor()) && (totals_.size() + 1) * programs > kMostTotals) {
    return changed;
  }
  Totals& totals = totals_.try_emplace(report.actor(), programs).first->second;
  for (const v1::ActorReport::CandidateGames::Program& reported : games.programs()) {
    const auto program = program_of_.find(reported.program_sha256());
    if (program == program_of_.end()) continue;
    ScoredVersion::Score& before = totals[program->second];
    if (reported.games() <= before.games) continue;
    ScoredVersion::Score& score = candidate_.scores[program->second];
    const double sum = static_cast<double>(score.games) * score.mean_return -
                       static_cast<double>(before.games) * before.mean_return +
                       reported.games() * reported.mean_return();
    score.games += reported.games() - before.games;
    score.mean_return = sum / static_cast<double>(score.games);
    before = {.games = reported.games(), .mean_return = reported.mean_return()};
    changed.push_back({.program = program->second, .score = score});
  }
  if (changed.empty()) return changed;
  moved_ = true;
  drop_reported_ = false;
  const bool is_scored =
      std::all_of(candidate_.scores.begin(), candidate_.scores.end(),
                  [&](const auto& score) { return score.games >= options_.least_games; });
  if (is_scored) {
    scored_.push_back(std::move(candidate_));
    ++scored_count_;
    Clear();
  }
  return changed;
}

uint64_t ScoredVersions::scored() const {
  const absl::MutexLock lock(&mutex_);
  return scored_count_;
}

std::vector<ScoredVersion> ScoredVersions::TakeScored() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(scored_, {});
}

std::optional<uint64_t> ScoredVersions::DropIfIdle(uint32_t actors, double games, absl::Time now) {
  const absl::MutexLock lock(&mutex_);
  if (std::exchange(moved_, false)) {
    idle_since_ = now;
    idle_games_ = games;
  }
  if (candidate_.weights == nullptr || actors == 0 || now - idle_since_ < options_.patience ||
      games - idle_games_ < options_.patience_games * actors) {
    return std::nullopt;
  }
  const uint64_t step = candidate_.weights->notice.step();
  Clear();
  if (std::exchange(drop_reported_, true)) return std::nullopt;
  return step;
}

}  // namespace mallocmuzero
