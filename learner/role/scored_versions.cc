#include "learner/role/scored_versions.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

ScoredVersions::ScoredVersions(const std::vector<std::string>& programs,
                               ScoredVersionsOptions options)
    : options_(options) {
  for (size_t p = 0; p < programs.size(); ++p) program_of_[programs[p]] = p;
}

void ScoredVersions::Publish(uint64_t step, std::string bytes) {
  const size_t programs = program_of_.size();
  const absl::MutexLock lock(&mutex_);
  Waiting& waiting = waiting_[step];
  waiting_bytes_ += bytes.size();
  waiting_bytes_ -= waiting.version.bytes.size();
  waiting = {.version = {.step = step,
                         .bytes = std::move(bytes),
                         .scores = std::vector<ScoredVersion::Score>(programs)},
             .unscored = programs};
  while (waiting_bytes_ > options_.most_bytes && waiting_.size() > 1) {
    waiting_bytes_ -= waiting_.begin()->second.version.bytes.size();
    waiting_.erase(waiting_.begin());
  }
}

void ScoredVersions::AcceptReport(const v1::ActorReport& report) {
  const absl::MutexLock lock(&mutex_);
  for (const v1::ActorReport::Evaluation& evaluation : report.evaluations()) {
    const auto program = program_of_.find(evaluation.program_sha256());
    const auto found = waiting_.find(evaluation.network_step());
    if (program == program_of_.end() || found == waiting_.end() || evaluation.games() == 0) {
      continue;
    }
    Waiting& waiting = found->second;
    ScoredVersion::Score& score = waiting.version.scores[program->second];
    const bool was_scored = score.games >= options_.least_games;
    // A sum that would overflow means that the report is not true.
    if (score.games + uint64_t{evaluation.games()} > UINT32_MAX) continue;
    score.games += evaluation.games();
    score.mean_return +=
        evaluation.games() * (evaluation.mean_return() - score.mean_return) / score.games;
    if (!was_scored && score.games >= options_.least_games) --waiting.unscored;
    if (waiting.unscored > 0) continue;
    waiting_bytes_ -= waiting.version.bytes.size();
    scored_.push_back(std::move(waiting.version));
    waiting_.erase(found);
  }
}

std::vector<ScoredVersion> ScoredVersions::TakeScored() {
  const absl::MutexLock lock(&mutex_);
  return std::exchange(scored_, {});
}

}  // namespace mallocmuzero
